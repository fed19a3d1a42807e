"""The offline model: it needs no network, no key and no download, and it is no language model.

It calls the tool whose name or words a request has, with the values in the request, and answers with what the tool
returned (:mod:`reading <maverick.providers.offline.reading>`). Asked for structured output, it answers in that shape.
Anything else it declines, and says what it is.
"""

from maverick.providers.offline.client import FinishedCall, OfflineClient, Turn, connect
from maverick.providers.offline.reading import RequestedCall

__all__ = ["FinishedCall", "OfflineClient", "RequestedCall", "Turn", "connect"]
