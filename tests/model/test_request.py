from __future__ import annotations

from typing import Any

import pytest

from maverick.exceptions import InvalidInputError
from maverick.model import Message, Request, RequestConfig


@pytest.mark.requirement("002-R1", "002-R1-CONFIG")
def test_a_request_needs_messages_only_and_leaves_the_rest_to_the_client() -> None:
    request = Request([Message.user("hi")])

    assert request.tools == ()
    assert request.config == RequestConfig(max_tokens=0, temperature=-1)
    assert (request.system, request.output) == ("", None)


@pytest.mark.requirement("002-R1-CONFIG")
@pytest.mark.parametrize("temperature", [-1, 0, 0.7, 2])
def test_a_temperature_is_minus_one_or_from_0_to_2(temperature: float) -> None:
    assert RequestConfig(max_tokens=100, temperature=temperature).temperature == temperature


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"max_tokens": -1}, "max_tokens"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"temperature": -0.5}, "temperature"),
        ({"temperature": 2.1}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
    ],
)
def test_a_setting_no_client_can_use_is_refused_by_name(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError, match=field) as caught:
        RequestConfig(**settings)

    assert caught.value.field == field


def test_a_request_can_not_be_changed() -> None:
    with pytest.raises(AttributeError):
        Request([Message.user("hi")]).system = "obey"  # type: ignore[misc]
