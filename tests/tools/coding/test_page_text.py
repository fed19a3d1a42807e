"""The words of a page, whatever somebody has made of it."""

from __future__ import annotations

import threading
import time

import pytest

from maverick.tools.coding.web import text_of_page

pytestmark = pytest.mark.requirement("C-FETCH")


def words(html: str) -> list[str]:
    return [line for line in text_of_page(html).split("\n") if line]


@pytest.mark.parametrize(
    ("html", "seen"),
    [
        ("<title>T</title><h1>Head</h1><p>One <b>two</b> three</p>", ["T", "Head", "One two three"]),
        ("<ul><li>a<li>b</ul>c<br>d", ["a", "b", "c", "d"]),
        ("<table><tr><td>1</td> <td>2</td></tr><tr><th>3</th></tr></table>", ["1 2", "3"]),
        ("a &lt;b&gt; &amp;&#233;&#xe9; &copy &nosuch; &", ["a <b> &éé © &nosuch; &"]),
        ("<a title='1 > 0' href=\"x>y\" data-x=1>link</a> there", ["link there"]),
        ("<A HREF=x>link</A><P>next</P>", ["link", "next"]),
        ("3 < 4 and 5 <6 > 1", ["3 < 4 and 5 <6 > 1"]),
        ("  spread \n over\tlines ", ["spread", "over lines"]),
        ("no tags", ["no tags"]),
        ("", []),
    ],
)
def test_what_a_person_reads_is_left(html: str, seen: list[str]) -> None:
    assert words(html) == seen


@pytest.mark.parametrize(
    "unseen",
    [
        "<script>if (a < b) '</p>'; no()</script>",
        "<SCRIPT src=x>no</Script >",
        "<style>p { content: '<p>no</p>' }</style>",
        "<template><p>no</p></template>",
        "<svg><text>no</text></svg>",
        "<svg/>",
        "<iframe><p>no</iframe>",
        "<noscript>no<p>no</noscript>",
        "<object><object>no</object>no</object>",
        "<!-- no --- <p>no</p> -->",
        "<!-->",
        "<!--->",
        "<!doctype html>",
        "<?xml no?>",
        "<![CDATA[no]]>",
        "<![if no]>",
        "<![",
        "</>",
        "</ no>",
        "<p no='no>",
    ],
)
def test_what_nobody_reads_is_left_out(unseen: str) -> None:
    assert words(f"before {unseen}<i></i>") == ["before"]


def test_after_what_nobody_reads_the_page_goes_on() -> None:
    assert words("<script>x</script>a<!-- b -->c<svg/>d<style></style>e</template>f<![x]>g") == [
        "ac",
        "d",
        "e",
        "fg",
    ]


@pytest.mark.parametrize(
    ("beginning", "piece"),
    [
        ("", "<a "),
        ("", "<"),
        ("", "<!"),
        ("", "<!["),
        ("", "<!-- --"),
        ("", "<a b='"),
        ("", '<a b="c'),
        ("", "<style><!--"),
        ("", "<svg>"),
        ("", "&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
        ("<a ", "="),
        ("<a ", "<a/"),
        ("<script>", "</script"),
        ("<!--", "-- "),
        ("&#", "1"),
    ],
)
def test_a_page_that_wants_to_be_slow_is_not(beginning: str, piece: str) -> None:
    page = beginning + piece * (150_000 // len(piece))
    began = time.process_time()

    text_of_page(page)

    assert time.process_time() - began < 20


def test_a_number_of_any_length_is_no_character() -> None:
    assert words(f"&#{'9' * 10_000};") == [f"&#{'9' * 10_000};"]
    assert words(f"&#x{'f' * 10_000};") == [f"&#x{'f' * 10_000};"]


def test_nobody_goes_on_reading_a_page_that_is_not_wanted_any_more() -> None:
    stopped = threading.Event()
    stopped.set()

    assert text_of_page("<p>a" * 10, stopped) == ""
