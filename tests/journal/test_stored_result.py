"""A result can be kept anywhere, and comes back as it was."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel

from maverick import (
    AgentExecutor,
    Image,
    RunConfig,
    TerminateReason,
    define_agent,
    dump_result,
    load_result,
    tool,
)
from maverick.exceptions import InvalidInputError, RateLimitError
from maverick.providers.scripted import Script
from maverick.testing import ScriptedClient, call, reply
from media_files import png


class Report(BaseModel):
    """What an agent answers with."""

    city: str
    degrees: float


@tool(effect="pure")
async def look(at: str) -> list[str | Image]:
    """Look at something."""
    return [f"{at} \ud800", Image.from_bytes(png())]


reporter = define_agent("reporter", "You report.", tools=[look], output=Report)
SCRIPT: Script = [call("look", at="Brest"), reply('{"city": "Brest", "degrees": 21.5}')]


async def test_a_result_of_any_type_comes_back_as_it_was() -> None:
    result = await AgentExecutor(ScriptedClient(SCRIPT)).execute(reporter, inputs={"prompt": "Brest?"})

    kept = dump_result(result)
    loaded, unchecked = load_result(kept, reporter), load_result(kept)

    assert loaded == result
    assert loaded.unwrap() == Report(city="Brest", degrees=21.5)
    assert unchecked.output == {"city": "Brest", "degrees": 21.5}
    assert loaded.metadata["agent"] == ("reporter",)


async def test_a_failed_result_keeps_its_error_and_the_fields_that_a_caller_branches_on() -> None:
    plain = define_agent("plain", "You talk.", limits=RunConfig(max_retries=0))
    client = ScriptedClient([RateLimitError("Too fast.", retry_after=7)])
    result = await AgentExecutor(client).execute(plain, inputs={"prompt": "Hi"})

    loaded = load_result(dump_result(result), plain)

    assert (loaded.success, loaded.output, loaded.terminate_reason) == (False, None, TerminateReason.ERROR)
    with pytest.raises(RateLimitError, match=r"Too fast\.") as raised:
        loaded.unwrap()
    assert raised.value.retry_after == 7


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{", "not a result"),
        (b"[]", "not a result"),
        (b'{"version": 1, "messages": []}', "not a result"),
        (json.dumps({"deep": 1}).replace("1", "[" * 3000 + "]" * 3000), "not a result"),
    ],
)
def test_what_is_no_result_is_refused(data: bytes | str, why: str) -> None:
    with pytest.raises(InvalidInputError, match=why):
        load_result(data)


async def test_a_newer_result_and_one_of_another_type_are_refused() -> None:
    result = await AgentExecutor(ScriptedClient(SCRIPT)).execute(reporter, inputs={"prompt": "Brest?"})
    kept = json.loads(dump_result(result))

    with pytest.raises(InvalidInputError, match="newer Maverick"):
        load_result(json.dumps(kept | {"version": 2}))
    with pytest.raises(InvalidInputError, match="not what 'counter' answers with"):
        load_result(json.dumps(kept), define_agent("counter", "You count.", output=int))
