"""A small deterministic model that needs no network, no key and no download.

It looks at a request as a :mod:`scene <maverick.providers.offline.scene>`, and the first
:mod:`rule <maverick.providers.offline.rules>` that applies answers it. The rules rest on
:mod:`choosing <maverick.providers.offline.choosing>` tools, filling their
:mod:`arguments <maverick.providers.offline.arguments>` and
:mod:`phrasing <maverick.providers.offline.phrasing>` what came back.
"""

from maverick.providers.offline.client import OfflineClient, connect

__all__ = ["OfflineClient", "connect"]
