"""Which model a request is for."""

from __future__ import annotations

from maverick.model import Request


class ModelNames:
    """The names of a provider's models, as its service knows them.

    Args:
        provider: The name of the provider in ``provider:model``.
        model: The client's own model, with or without the provider before it.
    """

    __slots__ = ("_own", "_prefix", "_provider")

    def __init__(self, provider: str, model: str) -> None:
        self._provider = provider
        self._prefix = f"{provider}:"
        self._own = self.bare(model)

    @property
    def own(self) -> str:
        """The client's own model, as ``provider:model``."""
        return self._prefix + self._own

    def bare(self, model: str) -> str:
        """The name of a model without the provider before it."""
        return model.removeprefix(self._prefix)

    def of(self, request: Request) -> str:
        """The model the request names, if it is one of this provider; else the client's own."""
        provider, colon, _ = request.config.model.partition(":")
        if not provider or (colon and provider != self._provider):
            return self._own
        return self.bare(request.config.model) or self._own
