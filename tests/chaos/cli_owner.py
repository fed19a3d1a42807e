"""A process that runs an agent on the CLI until it is killed."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from claude_cli.api import Greeter


async def own(wanted: dict[str, Any]) -> None:
    async for _ in Greeter(env=wanted["env"], allowed_tools=["Bash"]).query("Wait.", wanted["cwd"]):
        pass


if __name__ == "__main__":
    asyncio.run(own(json.loads(sys.argv[1])))
