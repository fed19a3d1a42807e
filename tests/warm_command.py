"""A program that other programs start: it asks the process that forks for it (:func:`warm_start.command`)."""

import json
import os
import socket
import sys

_, address, module, *words = sys.argv
own = {} if module == "maverick" else {"PYTHONPATH": os.path.dirname(__file__)}  # noqa: PTH120 - nothing is imported
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
    door.connect(f"\0{address}")
    told = {
        "module": module,
        "words": words,
        "folder": os.getcwd(),  # noqa: PTH109 - as a string
        "environment": {**os.environ, **own},
        "in_session": False,
        "at_terminal": False,
    }
    line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    socket.send_fds(door, [json.dumps(told).encode()], [0, 1, 2, theirs.fileno()])
    theirs.close()
    line.recv(16)  # its number
    status = int(line.recv(16))
os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
