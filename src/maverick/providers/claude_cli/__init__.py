"""The Claude CLI, through the Claude Agent SDK: started so that it cannot outlive us, and with errors of ours.

``process`` and what it uses run a CLI; ``transport`` is how the SDK talks to it; ``session`` is a conversation, and
``pool`` keeps sessions for the next one. ``options``, ``errors`` and ``usage`` translate. The SDK is loaded on use.
"""

from maverick.providers.claude_cli.errors import api_error, result_error, wrap_sdk_error
from maverick.providers.claude_cli.options import build_options, check_numbers
from maverick.providers.claude_cli.pool import SessionPool
from maverick.providers.claude_cli.session import CliSession
from maverick.providers.claude_cli.tool import CliTool, cli_tool
from maverick.providers.claude_cli.usage import UsageMeter, extract_usage

__all__ = [
    "CliSession",
    "CliTool",
    "SessionPool",
    "UsageMeter",
    "api_error",
    "build_options",
    "check_numbers",
    "cli_tool",
    "extract_usage",
    "result_error",
    "wrap_sdk_error",
]
