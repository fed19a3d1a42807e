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
@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ({"temperature": 0, "max_tokens": 100}, {"temperature": 0.0, "max_tokens": 100}),
        ({"temperature": 2}, {"temperature": 2.0}),
        ({"temperature": -1, "max_tokens": 0}, {"temperature": None, "max_tokens": None}),
        ({"thinking": False, "cache": False}, {"thinking": "off", "cache": "off"}),  # as YAML reads "off"
        ({"stop_sequences": ["END"], "server_tools": None}, {"stop_sequences": ("END",), "server_tools": ()}),
        ({"server_tools": ["web_search", {"type": "x"}]}, {"server_tools": ("web_search", {"type": "x"})}),
    ],
)
def test_a_setting_is_kept_in_one_form_and_none_is_the_default(
    written: dict[str, Any], kept: dict[str, Any]
) -> None:
    config = RequestConfig(**written)

    assert {name: getattr(config, name) for name in kept} == kept


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
        ({"effort": "huge"}, "effort"),
        ({"thinking": 0}, "thinking"),
        ({"thinking": True}, "thinking"),
        ({"stop_sequences": "END"}, "stop_sequences"),
        ({"stop_sequences": [""]}, "stop_sequences"),
        ({"tool_choice": ""}, "tool_choice"),
        ({"top_p": 0}, "top_p"),
        ({"cache": "2h"}, "cache"),
        ({"server_tools": [3]}, "server_tools"),
        ({"extra": {1: 2}}, "extra"),
    ],
)
def test_a_setting_no_client_can_use_is_refused_by_name(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError, match=field) as caught:
        RequestConfig(**settings)

    assert caught.value.field == field


def test_a_request_can_not_be_changed() -> None:
    with pytest.raises(AttributeError):
        Request([Message.user("hi")]).system = "obey"  # type: ignore[misc]
