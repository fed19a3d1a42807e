"""Structured logs: a line for each event, with the ids that tie it to its run, and nothing that was said."""

from __future__ import annotations

import io
import json
import logging
from typing import Any

import pytest

from maverick import AgentExecutor, OutputConfig, tool
from maverick.exceptions import NetworkError
from maverick.model import StopReason, Usage
from maverick.providers.scripted import Script
from maverick.telemetry import JsonFormatter, configure_logging, log, logger
from maverick.testing import ScriptedClient, call, calls, reply
from scenario import agent, watch

SECRET = "the-blue-heron-flies"


@tool
async def tell(what: str) -> str:
    """Tell it."""
    return f"{what}: {SECRET}"


@tool
async def stumble(what: str) -> str:
    """Fail over it."""
    raise ValueError(f"{what}: {SECRET}")


async def logged(
    script: Script, definition: Any, level: int | str = "INFO", **options: Any
) -> list[dict[str, Any]]:
    """The lines a run writes."""
    stream = io.StringIO()
    configure_logging(level, stream=stream)
    await AgentExecutor(ScriptedClient(script)).execute(definition, **options)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.requirement("003-NFR3-LOGS")
async def test_every_event_of_a_run_is_a_line_of_json_in_order() -> None:
    script: Script = [NetworkError("Unreachable."), call("tell", what="it"), "Done."]
    watched = await watch(script, agent(tell))

    lines = await logged(script, agent(tell))

    pieces = ("content_chunk", "thinking")
    assert [line["message"] for line in lines] == [kind for kind in watched.types if kind not in pieces]
    assert {line["level"] for line in lines} == {"info"}
    assert all(isinstance(line["time"], float) for line in lines)


@pytest.mark.requirement("003-NFR3-TRACE", "003-NFR3-LOGS")
@pytest.mark.parametrize("level", ["INFO", "DEBUG"])
async def test_every_line_has_the_ids_of_its_run_and_trace(level: str) -> None:
    child = agent(stumble, name="child", ask="Help.")
    script: Script = [
        calls(call("tell", what="it"), call("child"), call("stumble", what="it")),
        call("stumble", what="it"),
        "Helped.",
        "Done.",
    ]

    lines = await logged(
        script, agent(tell, stumble, child.as_tool()), level, run_id="run_7", trace_id="trace_7"
    )

    assert lines
    assert [line for line in lines if line.get("trace_id") != "trace_7"] == []
    assert {line["run_id"] for line in lines} == {"run_7", "run_7/1/1"}
    assert {line["agent"] for line in lines} == {"worker", "worker/child"}


@pytest.mark.requirement("003-NFR3-METRICS", "003-NFR3-LOGS")
async def test_the_last_line_has_the_figures_of_the_run() -> None:
    script = [
        calls(call("tell", what="it"), usage=Usage(10, 1)),
        reply("ok", usage=Usage(20, 2, cost_usd=0.5)),
    ]

    lines = await logged(script, agent(tell))

    last = lines[-1]
    assert last["message"] == "run_end"
    assert (last["terminate_reason"], last["turn_count"]) == ("complete", 2)
    assert (last["input_tokens"], last["output_tokens"], last["cost_usd"]) == (30, 3, 0.5)
    assert last["duration_ms"] >= 0
    (ended,) = [line for line in lines if line["message"] == "tool_call_end"]
    assert (ended["tool_call_id"], ended["outcome"]) == ("call_1", "finished")
    assert ended["duration_ms"] >= 0
    (started,) = [line for line in lines if line["message"] == "tool_call_start"]
    assert started["tool"] == "tell"


@pytest.mark.requirement("P9")
@pytest.mark.parametrize("level", ["INFO", "DEBUG"])
@pytest.mark.parametrize(
    ("script", "output"),
    [
        ([call("tell", what=SECRET), reply(SECRET, thinking=SECRET)], None),
        ([call("stumble", what=SECRET), SECRET], None),
        ([reply(SECRET, stop_reason=StopReason.REFUSAL)], None),
        ([reply(SECRET, stop_reason=StopReason.MAX_TOKENS)], None),
        ([SECRET, SECRET, SECRET], OutputConfig("number", int)),
        ([f'"{SECRET}"'] * 3, OutputConfig("number", int)),
        ([call("tell", what=SECRET, extra=SECRET), SECRET], None),
    ],
    ids=["words", "tool error", "refusal", "cut off", "no JSON", "wrong type", "wrong arguments"],
)
async def test_nothing_that_was_said_is_in_the_log(level: str, script: Script, output: Any) -> None:
    lines = await logged(script, agent(tell, stumble, ask=f"Keep {SECRET}.", output=output), level)

    assert lines[-1]["message"] == "run_end"
    assert [line for line in lines if SECRET in json.dumps(line)] == []


@pytest.mark.requirement("003-NFR3-LOGS")
async def test_pieces_of_an_answer_are_logged_at_debug_level_by_their_length() -> None:
    lines = await logged([reply("Hello.", thinking="hm")], agent(), "DEBUG")

    pieces = [line for line in lines if line["level"] == "debug"]
    assert [(piece["message"], piece["characters"]) for piece in pieces] == [
        ("thinking", 2),
        ("content_chunk", 6),
    ]


async def test_nothing_is_written_and_nothing_streamed_until_somebody_asks_for_it(
    capfd: pytest.CaptureFixture[str],
) -> None:
    class WholeOnly(ScriptedClient):
        """Answers in one piece only."""

        def stream(self, request: Any) -> Any:
            raise AssertionError("nobody listens")

    result = await AgentExecutor(WholeOnly(["Hello."])).execute(agent(timeout_ms=None))

    assert result.success
    assert capfd.readouterr() == ("", "")


def test_logs_go_to_standard_error_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    handler = configure_logging()

    log(logging.INFO, "hello", {"run_id": "run_7"})
    log(logging.DEBUG, "not now", {})

    written = capsys.readouterr()
    assert written.out == ""
    line = json.loads(written.err)
    assert (line["message"], line["run_id"], line["logger"]) == ("hello", "run_7", "maverick")
    assert handler in logger.handlers


def test_an_exception_is_part_of_its_line_and_any_value_has_a_form() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger.addHandler(handler)

    logger.error(
        "It failed: %s", "thing", exc_info=RuntimeError("broken"), extra={"maverick": {"odd": object()}}
    )

    (line,) = [json.loads(text) for text in stream.getvalue().splitlines()]
    assert line["message"] == "It failed: thing"
    assert "RuntimeError: broken" in line["exception"]
    assert line["odd"].startswith("<object")


@pytest.mark.requirement("ERR-TRACEBACKS")
async def test_a_tool_that_raises_leaves_its_traceback_in_standard_logging_and_nothing_of_what_was_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool
    async def charge(card: str) -> str:
        """Charge a card."""
        try:
            return {"visa": SECRET}[card]
        except KeyError as error:
            raise RuntimeError(f"cannot charge {card}") from error

    client = ScriptedClient([call("charge", card="4111"), reply("Sorry.")])
    with caplog.at_level(logging.WARNING):
        await AgentExecutor(client).execute(agent(charge), run_id="run_7")

    (record,) = [record for record in caplog.records if record.exc_info]
    assert record.levelno == logging.WARNING
    assert "tool_failed" in record.getMessage()
    assert "tool: charge" in record.getMessage()
    assert "run_id: run_7" in record.getMessage()
    written = logging.Formatter().format(record)
    assert "KeyError" in written
    assert "in charge" in written
    assert written.splitlines()[-1] == "RuntimeError"
    assert "4111" not in written
    assert SECRET not in written
