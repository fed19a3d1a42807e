"""Figures, differences and harmless text: the small parts of what is shown."""

from __future__ import annotations

import pytest

from maverick.loop.limits import Limits
from maverick.model import Usage
from maverick.tui.conversation import ConversationModel
from maverick.tui.figures import age, counted, duration, money, tokens
from maverick.tui.gauge import Gauge
from maverick.tui.panels import GaugeLine
from maverick.tui.plain_text import one_line, plain, printable
from maverick.tui.tool_lines import diff_styles
from tui.desk import Desk


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0"), (999, "999"), (1_000, "1k"), (1_234, "1.2k"), (200_000, "200k"), (1_500_000, "1.5M")],
)
def test_tokens_are_told_in_few_characters(count: int, shown: str) -> None:
    assert tokens(count) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-1, "0 ms"),
        (0, "0 ms"),
        (0.0123, "12 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (2.14, "2.1 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 0 s"),
        (75, "1 min 15 s"),
        (3599.6, "1 h 0 min"),
        (7260, "2 h 1 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_a_duration_has_one_or_two_units(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-5, "0 s"), (12.4, "12 s"), (60, "1 min"), (7199, "1 h"), (86_400 * 30.5, "30 d")],
)
def test_an_age_has_its_largest_unit(seconds: float, shown: str) -> None:
    assert age(seconds) == shown


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [
        (None, "$?"),
        (0, "$0"),
        (0.00123, "$0.0012"),
        (0.1 + 0.2, "$0.30"),
        (1.239, "$1.24"),
        (1234.5, "$1,234.50"),
    ],
)
def test_money_has_as_many_digits_as_matter(dollars: float | None, shown: str) -> None:
    assert money(dollars) == shown


def test_one_thing_is_not_many() -> None:
    assert [counted(number, "turn") for number in (0, 1, 1000)] == ["0 turns", "1 turn", "1,000 turns"]


@pytest.mark.requirement("007-TUI-GAUGE")
def test_a_gauge_tells_each_figure_with_its_share_of_the_limit() -> None:
    gauge = Gauge(
        Limits(turns=20, tokens=10_000, cost_usd=0.5), 8_000, 2_000, Usage(4_000, 1_000, cost_usd=0.25), 3
    )

    meters = [(meter.name, meter.text, meter.share) for meter in gauge.meters()]

    assert meters == [
        ("context", "2k/8k", 0.25),
        ("tokens", "5k/10k", 0.5),
        ("cost", "$0.25/$0.50", 0.5),
        ("turn", "3/20", 0.15),
    ]


@pytest.mark.requirement("007-TUI-GAUGE")
def test_a_gauge_without_limits_tells_what_was_used() -> None:
    meters = [(meter.text, meter.share) for meter in Gauge(usage=Usage(10, 2), turns=1).meters()]

    assert meters == [("0", None), ("12", None), ("$?", None), ("1", None)]


@pytest.mark.requirement("007-TUI-GAUGE")
@pytest.mark.parametrize(
    ("limits", "shown"),
    [(Limits(), ["150", "$0.75"]), (Limits(tokens=1_000, cost_usd=1), ["50/1k", "$0.25/$1.00"])],
)
def test_without_a_limit_tokens_and_cost_are_those_of_the_conversation(
    limits: Limits, shown: list[str]
) -> None:
    model = ConversationModel()
    model.gauge.usage = Usage(60, 40, cost_usd=0.5)
    model.begin("run_2", [], limits, None)
    model.gauge.usage = Usage(30, 20, cost_usd=0.25)

    assert [meter.text for meter in model.gauge.meters() if meter.name in ("tokens", "cost")] == shown


@pytest.mark.requirement("007-TUI-GAUGE")
@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (80, "ask · /home/ana/project context 0/8k tokens 0/50k cost $0 turn 0/20"),
        (60, "ask · /home/ana/project context 0/8k tokens 0/50k"),
        (30, "ask · /home/ana/project"),
        (22, "ask · …na/project"),
    ],
)
async def test_the_last_figures_give_way_to_the_mode_and_the_folder_where_there_is_no_room(
    width: int, shown: str
) -> None:
    app = Desk().app()
    async with app.run_test(size=(width, 15)):
        app.session.model.gauge = Gauge(Limits(turns=20, tokens=50_000), 8_000)
        app.draw()

        bars = {ord(bar): None for bar in "█░"}
        assert " ".join(str(app.query_one(GaugeLine).render()).translate(bars).split()) == shown


@pytest.mark.requirement("007-TUI-DIFF")
def test_a_removed_line_that_looks_like_a_files_head_is_still_a_removed_line() -> None:
    lines = ["text", "--- a", "+++ a", "@@ -1,2 +1,2 @@", "--- old", "+new", " same", "after"]

    styles = ["", "hunk", "hunk", "hunk", "removed", "added", "", ""]
    assert list(diff_styles(lines)) == styles


@pytest.mark.requirement("007-TUI-SAFE")
def test_text_is_harmless_to_read_and_nothing_is_hidden_in_what_is_decided_on() -> None:
    wild = "a\x1b[2J\tb\u202ec\ud800"

    assert plain(wild) == "a[2J    bc\ufffd"
    assert printable(wild) == "a[2J\tbc\ud800"
    assert one_line(" a\n  b\r\u200fc\t") == "a b c"
