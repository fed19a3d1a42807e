"""An MCP server that needs no library, so that it starts at once: ``python shop_server.py SPEC``.

The file it is given says which tools and prompts it has, and how it behaves::

    {"tools": {"sell": "Sells."}, "prompts": {"ask": "Is {place} far?"}, "reads": ["sell"], "log": "…", "meets": ["mine", "theirs"], "stubborn": true}

A tool among its ``asks`` first sends the client the request there, ``{"book": ["elicitation/create", {…}]}``, and returns
what that is answered.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_ASKING = "2025-06-18"
"""The version in which a server sends requests of its own."""
_TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}


def answer(spec: dict[str, Any], method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """What it answers to a request; nothing if it does not know it."""
    if method == "initialize":
        return {
            "protocolVersion": _ASKING if "asks" in spec else params["protocolVersion"],
            "capabilities": {"tools": {}, **({"prompts": {}} if "prompts" in spec else {})},
            "serverInfo": {"name": "shop", "version": "1"},
        }
    if method == "tools/list":
        tools = [
            {
                "name": name,
                "description": description,
                "inputSchema": _TEXT,
                "annotations": {"readOnlyHint": name in spec.get("reads", [])},
            }
            for name, description in spec["tools"].items()
        ]
        return {"tools": tools}
    if method == "tools/call":
        note(spec, params["name"])
        if params["name"] in spec.get("asks", {}):
            return {"content": [{"type": "text", "text": json.dumps(ask(*spec["asks"][params["name"]]))}]}
        if params["name"] == "key":
            return {"content": [{"type": "text", "text": params["_meta"]["maverick/idempotency-key"]}]}
        text = (
            os.environ.get("SHOP_KEY", "")
            if params["name"] == "owner"
            else params["arguments"].get("text", "")
        )
        return {"content": [{"type": "text", "text": text}]}
    return answer_about(spec["prompts"], method, params) if "prompts" in spec else None


def answer_about(prompts: dict[str, str], method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """What it answers to a request for its prompts, each of which is about a place."""
    if method == "prompts/list":
        place = [{"name": "place", "required": True}]
        return {"prompts": [{"name": name, "arguments": place} for name in prompts]}
    if method == "prompts/get":
        text = prompts[params["name"]].format(**params["arguments"])
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
    return None


def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """What the client answers to a request; it sends nothing else meanwhile that matters."""
    send({"id": "asked", "method": method, "params": params})
    while (reply := json.loads(sys.stdin.readline())).get("id") != "asked":
        pass
    return dict(reply.get("result") or reply["error"])


def send(message: dict[str, Any]) -> None:
    """Send a message to the client."""
    sys.stdout.write(f"{json.dumps({'jsonrpc': '2.0', **message})}\n")
    sys.stdout.flush()


def note(spec: dict[str, Any], what: str) -> None:
    """Write down what happened."""
    if "log" in spec:
        with Path(spec["log"]).open("a", encoding="utf-8") as log:
            log.write(f"{what}\n")


def meet(mine: str, theirs: str) -> None:
    """Wait until the other one is there too."""
    Path(mine).touch()
    while not Path(theirs).exists():
        time.sleep(0.01)


def serve(spec: dict[str, Any]) -> None:
    """Answer until nobody asks any more."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = answer(spec, request["method"], request.get("params") or {})
        reply = {"error": {"code": -32601, "message": "unknown"}} if result is None else {"result": result}
        send({"id": request["id"], **reply})


def main(file: str) -> None:
    """Behave as the file says."""
    spec = json.loads(Path(file).read_text(encoding="utf-8"))
    note(spec, "started")
    sys.stderr.write("a word of the shop's own\n")
    if "meets" in spec:
        meet(*spec["meets"])
    if spec.get("stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        waiting = [sys.executable, "-c", "import time; time.sleep(600)", file]
        subprocess.Popen(waiting, start_new_session=True)  # noqa: S603 - a child that leaves the group
    serve(spec)
    while spec.get("stubborn"):
        time.sleep(1)


if __name__ == "__main__":
    main(sys.argv[1])
