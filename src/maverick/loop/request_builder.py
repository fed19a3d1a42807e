"""What every request of a run has beside its messages: the instructions, the tools, the settings.

It stays the same from request to request, so that each extends the one before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from maverick.loop.definition import AgentDefinition
from maverick.loop.entries import RunStarted
from maverick.loop.prefix import PrefixReason
from maverick.loop.run_settings import RunSettings, ToolOffer
from maverick.model import History, OutputSchema, Request, Tool
from maverick.model.request import DEFAULT_CONFIG

_FREE_CHOICES = (None, "auto", "none")


class RequestBuilder:
    """Makes the requests of one run.

    Args:
        definition: The agent.
        tools: Its tools by name, as they are today.
        start: The entry that the run begins with.
    """

    __slots__ = ("_definition", "_offered", "_output", "_tools", "config", "offer", "settings", "system")

    def __init__(
        self, definition: AgentDefinition[Any], tools: Mapping[str, Tool], start: RunStarted
    ) -> None:
        self._definition = definition
        self._tools = tools
        self._offered: tuple[Tool, ...] = ()
        """The tools that requests name."""
        self._output: OutputSchema | None = None
        self.system = start.system
        """The system prompt."""
        self.settings = start.settings or RunSettings.of(definition, tools)
        """What the run is decided by."""
        self.offer = ToolOffer()
        """The tools on offer."""
        self.config = DEFAULT_CONFIG
        """The settings of the next request."""
        if (output := definition.output_config) is not None:
            self._output = OutputSchema(output.output_name, output.format.json_schema)
            if not start.info.native_output:
                self.system = f"{start.system}\n\n{output.format.instructions()}".lstrip()

    def apply(self, settings: RunSettings | None, *, answered: bool) -> PrefixReason | None:
        """Go on with these settings, or else with those of the agent.

        Args:
            settings: The settings, as they were recorded.
            answered: Whether the model has answered before: a tool that it has to call is called by then.

        Returns:
            Why a request does not extend one with the settings before, if it does not.
        """
        before, offered, model = self.settings, self.offer, self._definition.model_config
        self.settings = settings = settings or RunSettings.of(self._definition, self._tools)
        self.offer = settings.offer or ToolOffer.of(self._tools)
        self._offered = self.offer.requested(self._tools)
        self.config = model.request_config
        if settings.max_tokens != (self.config.max_tokens or 0):
            self.config = replace(self.config, max_tokens=settings.max_tokens)
        if answered:
            self.release_choice()
        if not self.offer.same_as(offered):
            return PrefixReason.TOOLS_CHANGED
        if settings.model and before.model and settings.model != before.model:
            return PrefixReason.MODEL_CHANGED
        unknown = settings.output is None or before.output is None
        return None if unknown or settings.output == before.output else PrefixReason.SETTINGS_CHANGED

    def release_choice(self) -> bool:
        """Leave the choice of tools to the model from now on; says whether it was forced."""
        if self.config.tool_choice in _FREE_CHOICES:
            return False
        self.config = replace(
            self.config, tool_choice="auto"
        )  # said, or else the client's default would come back
        return True

    def request(self, history: History, max_tokens: int) -> Request:
        """The request with this conversation, for an answer of at most so many tokens."""
        config = self.config
        if max_tokens != (config.max_tokens or 0):
            config = replace(config, max_tokens=max_tokens)
        return Request(history, self._offered, config, self.system, self._output)
