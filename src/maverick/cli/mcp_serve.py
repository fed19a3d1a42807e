"""``maverick mcp serve``: one's tasks, over standard input and output or over HTTP."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from maverick.chat import Database, MCPToolServer
from maverick.chat.serving import KnownTokens, http_app, serve_stdio
from maverick.cli.chat_session import current_user
from maverick.cli.settings import load_settings
from maverick.exceptions import ConfigError, InvalidInputError


def serve(options: argparse.Namespace) -> None:
    """Serve until the client closes the connection, or the process is stopped."""
    database = Database(options.database or load_settings().database.get_secret_value())
    tools = MCPToolServer(database.session)
    try:
        if options.port is None:
            asyncio.run(serve_stdio(tools, options.user or current_user()))
        else:
            _serve_http(tools, options)
    finally:
        database.close()


def _serve_http(tools: MCPToolServer, options: argparse.Namespace) -> None:
    import uvicorn

    from maverick.server import client_protocol

    if options.tokens is None:
        raise InvalidInputError(
            "--tokens: name a file with a line “user token” for each who may use it.", field="tokens"
        )
    known = KnownTokens(_tokens_in(Path(options.tokens)))
    address = f"{options.host}:{options.port}"
    named = [pattern for name in options.allowed_hosts for pattern in (name, f"{name}:*")]
    app = http_app(tools, known, allowed_hosts=[address, f"localhost:{options.port}", *named])
    sys.stderr.write(f"Serving tasks at http://{address}/mcp (Ctrl-C stops it)\n")
    uvicorn.run(
        app,
        http=client_protocol(),
        ws="none",
        host=options.host,
        port=options.port,
        log_level="warning",
        server_header=False,
    )


def _tokens_in(file: Path) -> dict[str, str]:
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{file} cannot be read. Check that it exists and is text.", source=str(file)
        ) from error
    tokens: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if words and not line.startswith("#"):
            if len(words) != 2:
                raise ConfigError(f"{file}, line {number}: expected “user token”.", source=str(file))
            tokens[words[1]] = words[0]
    return tokens
