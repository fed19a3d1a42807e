from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from maverick.exceptions import CassetteMissError, InvalidInputError
from maverick.model import Message, Request, Response, ToolCall
from maverick.providers import connect
from maverick.testing import RecordingClient, ScriptedClient, reply
from runtime.taping import (
    Weather,
    answers,
    ask,
    cassette,
    content,
    lines,
    loop,
    overwrite,
    record,
    scripted_loop,
)

HEADER = '{"type": "cassette", "version": 1}\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.json"


async def test_the_file_is_readable_and_is_what_an_export_is(path: Path) -> None:
    await record(path, ["Bonjour, ça va ?"], ask("Schöne Grüße"))

    head, *entries = lines(path)
    assert head["run"]["agent"] == "recorded"
    assert [line["entry"]["type"] for line in entries] == ["RunStarted", "ModelCalled", "ModelReplied"]
    assert [line["seq"] for line in entries] == [1, 2, 3]
    assert "Schöne Grüße" in content(path).decode()


async def test_an_exchange_is_in_the_file_before_its_caller_has_the_end_of_it(path: Path) -> None:
    client = RecordingClient(ScriptedClient(["a", reply("b")]), path)
    await client.run(ask("hi"))
    assert answers(path) == 1
    async for item in client.stream(ask("ho")):
        if isinstance(item, Response):
            assert answers(path) == 2


def test_a_recording_that_is_killed_keeps_what_was_written(path: Path) -> None:
    code = (
        "import asyncio, os, signal, sys\n"
        "from maverick.model import Message, Request\n"
        "from maverick.testing import RecordingClient\n"
        "from maverick.testing import ScriptedClient\n"
        "def speak(request):\n"
        "    if request.messages[0].content == '3': os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return request.messages[0].content\n"
        "async def main():\n"
        "    client = RecordingClient(ScriptedClient(speak), sys.argv[1])\n"
        "    for n in range(5): await client.run(Request([Message.user(str(n))]))\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)  # noqa: S603
    assert done.returncode == -signal.SIGKILL

    async def replay() -> list[str]:
        client = cassette(path)
        return [(await client.run(ask(str(n)))).content for n in range(3)]

    assert asyncio.run(replay()) == ["0", "1", "2"]


async def test_a_last_line_cut_anywhere_is_ignored_and_recording_goes_on_after_it(path: Path) -> None:
    await record(path, ["a", "b"], ask("1"), ask("2"))
    whole = content(path)
    second = whole.rindex(b"\n", 0, -1) + 1
    for cut in range(second, len(whole) - 1, 13):
        overwrite(path, whole[:cut])
        recorder = RecordingClient(ScriptedClient(["new b", "c"]), path, existing="append")
        await recorder.run(ask("2"))
        client = cassette(path)
        assert [(await client.run(ask(n))).content for n in "12"] == ["a", "new b"]


async def test_a_last_line_that_only_lacks_its_end_counts(path: Path) -> None:
    await record(path, ["a"], ask("1"))
    overwrite(path, content(path).rstrip(b"\n"))
    await RecordingClient(ScriptedClient(["b"]), path, existing="append").run(ask("2"))
    client = cassette(path)
    assert [(await client.run(ask(n))).content for n in "12"] == ["a", "b"]


async def test_a_recording_can_be_continued(path: Path) -> None:
    await loop(RecordingClient(scripted_loop(3), path), 3)
    before = content(path)

    def go_on(request: Request) -> str:
        return "after that"

    history = [Message.user("Report."), Message.assistant("turn 0")]
    await RecordingClient(ScriptedClient(go_on), path, existing="append").run(Request(history))

    assert content(path).startswith(before)
    assert (await cassette(path).run(Request(history))).content == "after that"
    assert await loop(cassette(path), 3) == ["turn 0", "turn 1", "turn 2"]


async def test_a_cassette_edited_by_hand_matches_and_answers_what_it_says_now(path: Path) -> None:
    await loop(RecordingClient(scripted_loop(2), path), 2)
    overwrite(path, content(path).replace(b"Report.", b"Tell me.").replace(b"turn 0", b"round 0"))
    with pytest.raises(CassetteMissError):
        await loop(
            cassette(path), 2
        )  # the second request quotes the first answer, which was edited in both places
    assert (await loop(cassette(path), 1, "Tell me.")) == ["round 0"]

    more = RecordingClient(ScriptedClient(["done"]), path, existing="append")
    longer = Request(
        [Message.user("Tell me."), Message.user("Now.")],
        tools=[Weather(city={"type": "string"})],
        system="Be brief.",
    )
    await more.run(longer)
    assert (await cassette(path).run(longer)).content == "done"


def test_an_existing_file_is_not_overwritten_unasked(path: Path) -> None:
    path.write_text("precious")
    with pytest.raises(InvalidInputError, match="already a file"):
        RecordingClient(ScriptedClient([]), path)
    with pytest.raises(InvalidInputError, match="existing"):
        RecordingClient(ScriptedClient([]), path, existing="apend")  # type: ignore[arg-type]
    assert path.read_text() == "precious"


async def test_an_existing_file_can_be_replaced(path: Path) -> None:
    overwrite(path, b"not precious")
    await RecordingClient(ScriptedClient(["a"]), path, existing="replace").run(ask("1"))
    assert (await cassette(path).run(ask("1"))).content == "a"


@pytest.mark.requirement("P8")
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{}\n", "Line 1"),
        ("hello\n", "Line 1"),
        ('{"type": "cassette", "version": 2}\n', "version 2"),
        ('{"seq": 1, "version": 99, "entry": {}}\n', "format 99"),
        (HEADER + '{"type": "exch\n{}\n', "Line 2"),
        (HEADER + '\n{"type": "exchange", "id": "a"}\n', "Line 3"),
        (
            HEADER + '{"type": "exchange", "id": "a", "continues": "b", "messages": [], "answer": {}}\n',
            "continues 'b'",
        ),
        ("[" * 100_000 + "\n", "Line 1"),
        (
            HEADER + '{"type": "exchange", "id": "a", "messages": [], "answer": {}, "request": "x"}\n',
            "Line 2",
        ),
        (HEADER + '{"type": "exchange", "id": "a", "messages": ["x"], "answer": {}}\n', "Line 2"),
    ],
    ids=[
        "no type",
        "no JSON",
        "newer",
        "newer entry",
        "damaged",
        "incomplete",
        "orphan",
        "deep",
        "no request",
        "no message",
    ],
)
def test_a_file_that_is_no_whole_cassette_is_refused_with_the_place(
    path: Path, content: str, problem: str
) -> None:
    path.write_text(content)
    with pytest.raises(InvalidInputError) as caught:
        connect(f"cassette:{path}")
    assert problem in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.requirement("P8")
def test_a_path_that_cannot_be_read_or_written_is_explained(tmp_path: Path, path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"no cassette at .*run\.json"):
        connect(f"cassette:{path}")
    with pytest.raises(InvalidInputError, match="cannot be used"):
        connect(f"cassette:{tmp_path}")
    with pytest.raises(InvalidInputError, match="Name the file"):
        connect("cassette:")
    path.write_text("a file")
    with pytest.raises(InvalidInputError, match="cannot be used"):
        RecordingClient(ScriptedClient([]), path / "run.json")


def test_the_folders_of_a_new_cassette_are_made(tmp_path: Path) -> None:
    path = tmp_path / "cassettes" / "deep" / "run.json"
    RecordingClient(ScriptedClient([]), path)
    assert path.exists()


async def test_a_request_that_json_cannot_hold_is_refused_before_it_is_sent(path: Path) -> None:
    inner = ScriptedClient(["never"])
    request = Request([Message.assistant([ToolCall("1", "f", {"x": object()})])])
    with pytest.raises(InvalidInputError, match="object has no JSON form"):
        await RecordingClient(inner, path).run(request)
    assert inner.requests == []
