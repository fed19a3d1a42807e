"""The command ``maverick`` for a shell: it asks the process that forks for itself (:func:`warm_start.for_shells`)."""

import json
import os
import socket
import sys

with socket.socket(fileno=int(os.environ.pop("MAVERICK_TEST_DOOR"))) as door:
    told = {
        "module": "maverick",
        "words": sys.argv[1:],
        "folder": os.getcwd(),  # noqa: PTH109 - as a string
        "environment": dict(os.environ),
        "in_session": False,
        "at_terminal": False,
    }
    line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    socket.send_fds(door, [json.dumps(told).encode()], [0, 1, 2, theirs.fileno()])
    theirs.close()
    line.recv(16)  # its number
    status = int(line.recv(16))
os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
