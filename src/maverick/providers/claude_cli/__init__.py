"""The Claude CLI, through the Claude Agent SDK: supervised so that it cannot outlive us, and with our own errors.

``transport`` runs a CLI and connects the SDK to it, ``session`` is a conversation with it, and ``pool`` keeps
sessions for the next one. ``client`` is the model ``claude-code:…``: in a run, ``conversation`` drives a ``gated_cli``, which
waits for the loop before each tool and each model call. The SDK is loaded on use.
"""

from maverick.providers.claude_cli.errors import api_error, result_error, wrap_sdk_error
from maverick.providers.claude_cli.options import build_options, check_numbers
from maverick.providers.claude_cli.pool import SessionPool
from maverick.providers.claude_cli.session import CliSession
from maverick.providers.claude_cli.tool import CliTool, cli_tool
from maverick.providers.claude_cli.usage import extract_usage

__all__ = [
    "CliSession", "CliTool", "SessionPool", "api_error", "build_options", "check_numbers", "cli_tool",
    "extract_usage", "result_error", "wrap_sdk_error",
]  # fmt: skip
