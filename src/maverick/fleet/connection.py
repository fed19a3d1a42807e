"""The connection to a Temporal server, with errors that say what to do."""

from __future__ import annotations

import asyncio
import builtins
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client as TemporalClient
from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter
from temporalio.service import RPCError, RPCStatusCode, TLSConfig

from maverick.exceptions import ConfigError, InvalidInputError, NetworkError
from maverick.misuse import refuse

_PATIENCE = 10.0
"""Seconds that a connection may take."""
_ADDRESS = re.compile(r"(?:temporal://)?([^/@\s]+?)(?::([0-9]{1,5}))?(?:/([^/@\s]+))?/?")
_PORT = "7233"
_REFUSED = re.compile(r"code: (Unauthenticated|PermissionDenied)")
_REFUSING = (RPCStatusCode.UNAUTHENTICATED, RPCStatusCode.PERMISSION_DENIED)


async def connect_to_temporal(
    address: str, namespace: str | None = None, *, tls: bool | TLSConfig = False, api_key: str | None = None
) -> TemporalClient:
    """Connect to a Temporal server as :meth:`maverick.Fleet.connect` does, and check that it has the namespace.

    Raises:
        InvalidInputError: The address or a certificate cannot be used.
        NetworkError: The server cannot be reached.
        ConfigError: It does not have the namespace, or refuses the key.
    """
    found = _ADDRESS.fullmatch(address)
    if found is None:
        refuse("temporal", "expected host:port, or temporal://host:port/namespace.")
    server = f"{found[1]}:{found[2] or _PORT}"
    namespace = found[3] or namespace or "default"
    try:
        async with asyncio.timeout(_PATIENCE):
            await _knock(found[1], int(found[2] or _PORT))
            client = await TemporalClient.connect(
                server,
                namespace=namespace,
                tls=tls or api_key is not None,
                api_key=api_key,
                runtime=_runtime(),
            )
            await client.workflow_service.describe_namespace(
                DescribeNamespaceRequest(namespace=namespace), timeout=timedelta(seconds=_PATIENCE)
            )
    except OSError as error:
        raise _unusable(server, namespace, error, refused=False) from error
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"Temporal cannot be reached at {server}: the port or a certificate is invalid.",
            field="temporal",
            cause=error,
        ) from error
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            raise ConfigError(
                f"Temporal at {server} has no namespace {namespace!r}. Create it, or name another.",
                field="temporal.namespace",
            ) from error
        raise _unusable(server, namespace, error, refused=error.status in _REFUSING) from error
    except (RuntimeError, builtins.TimeoutError) as error:  # the SDK raises nothing more particular
        raise _unusable(server, namespace, error, refused=bool(_REFUSED.search(str(error)))) from error
    return client


async def _knock(host: str, port: int) -> None:
    """See that something answers there: the SDK may crash the process at its exit after a connection that failed."""
    _, writer = await asyncio.open_connection(host.strip("[]"), port)
    writer.close()


@cache
def _runtime() -> Runtime:
    """The threads of Temporal's client, which write to the terminal themselves: only what is an error."""
    quiet = TelemetryFilter(core_level="ERROR", other_level="ERROR")
    return Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(filter=quiet)))


@contextmanager
def reaching_temporal(*, or_not_found: bool = False) -> Iterator[None]:
    """Calls to Temporal: what goes wrong with them is raised as an error of ours.

    ``or_not_found`` is whether it is fine if Temporal does not have what is asked for. Raises NetworkError if it
    could not be reached, and ConfigError if it refuses access.
    """
    try:
        yield
    except RPCError as error:
        if or_not_found and error.status is RPCStatusCode.NOT_FOUND:
            return
        if error.status in _REFUSING:
            raise ConfigError(
                "Temporal refuses access. Check temporal.api_key, or the certificate.",
                field="temporal.api_key",
            ) from error
        raise NetworkError(
            "Temporal could not be reached, or is overloaded. Check that its server runs, and try again.",
            cause=error,
        ) from error


def _unusable(server: str, namespace: str, error: BaseException, *, refused: bool) -> Exception:
    if refused:
        return ConfigError(
            f"Temporal at {server} refuses access to the namespace {namespace!r}. Check temporal.api_key, or the "
            "certificate.",
            field="temporal.api_key",
        )
    return NetworkError(
        f"Temporal cannot be reached at {server}. Check the address, that the server runs, and whether it uses TLS.",
        cause=error,
    )
