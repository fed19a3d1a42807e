"""Rules and modes: which calls run, which are asked about, and which never run."""

from __future__ import annotations

from typing import Any

import pytest

from maverick import AgentDefinition
from maverick.exceptions import InvalidInputError
from maverick.loop.policy import Verdict
from maverick.model import ToolCall
from maverick.tools import Permissions
from tools.permissions.office import ruled, verdict

MODES = {
    "plan": ("allow", "deny", "ask", "deny"),
    "ask": ("allow", "ask", "ask", "ask"),
    "accept-edits": ("allow", "allow", "ask", "ask"),
    "yolo": ("allow", "allow", "allow", "allow"),
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("read", {"path": "a"}),
    ("write", {"path": "a"}),
    ("fetch", {"url": "https://example.org/"}),
    ("shell", {"command": "ls"}),
]


@pytest.mark.requirement("C-MODES")
@pytest.mark.parametrize("mode", MODES)
def test_each_mode_decides_by_how_far_a_tool_reaches(mode: str) -> None:
    assert tuple(verdict(Permissions(mode), name, **args) for name, args in CALLS) == MODES[mode]


@pytest.mark.requirement("C-MODES")
def test_asking_is_the_mode_of_whoever_chooses_none() -> None:
    assert Permissions().mode == "ask"


@pytest.mark.requirement("C-MODES")
def test_a_tool_that_does_not_say_how_far_it_reaches_is_taken_for_the_worst_unless_it_is_pure() -> None:
    assert verdict(Permissions("accept-edits"), "send_mail", to="ana") == "ask"
    assert verdict(Permissions("plan"), "send_mail", to="ana") == "deny"
    assert verdict(Permissions("plan"), "look_up", word="x") == "allow"


@pytest.mark.requirement("C-MODES")
def test_calling_an_agent_is_allowed_since_its_own_calls_are_checked() -> None:
    helper = AgentDefinition(name="helper", description="Helps.").as_tool()

    assert Permissions("plan").decide(ToolCall("a", "helper", {}), helper).verdict is Verdict.ALLOW


@pytest.mark.requirement("C-PERMISSIONS")
def test_deny_wins_over_ask_and_ask_over_allow_in_every_mode() -> None:
    for mode in MODES:
        denied = Permissions(mode, allow=["read"], ask=["read"], deny=["read"])
        asked = Permissions(mode, allow=["read"], ask=["read"])
        assert verdict(denied, "read", path="a") == "deny"
        assert verdict(asked, "read", path="a") == "ask"
    assert verdict(Permissions("ask", allow=["write"]), "write", path="a") == "allow"


@pytest.mark.requirement("C-PERMISSIONS", "C-MODES")
def test_no_rule_makes_a_plan_act() -> None:
    policy = Permissions("plan", allow=["write", "shell", "fetch"])

    assert verdict(policy, "write", path="a") == "deny"
    assert verdict(policy, "shell", command="ls") == "deny"
    assert verdict(policy, "fetch", url="https://example.org/") == "allow"


@pytest.mark.requirement("C-PERMISSIONS")
def test_the_reason_names_the_rule_or_the_mode_and_says_what_to_do() -> None:
    by_rule = ruled(Permissions(deny=["write(*.lock)"]), "write", path="a.lock")
    by_mode = ruled(Permissions("plan"), "shell", command="ls")
    asked = ruled(Permissions(), "shell", command="ls")

    assert by_rule.reason.startswith("the permissions deny write(*.lock). Do it another way")
    assert by_mode.reason.startswith("shell may do anything, not in plan mode.")
    assert asked.reason == "shell may do anything."


@pytest.mark.requirement("C-PERMISSIONS")
@pytest.mark.parametrize("path", [".env", "./.env", "a/../.env", ".ENV", "a//../.env"])
def test_a_denied_path_is_denied_however_it_is_spelt(path: str) -> None:
    assert verdict(Permissions("yolo", deny=["write(.env)"]), "write", path=path) == "deny"


@pytest.mark.requirement("C-PERMISSIONS")
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("docs/a.md", "allow"),
        ("docs/deep/a.md", "allow"),
        ("docs/../src/a.py", "ask"),
        ("../docs/a.md", "ask"),
        ("/docs/a.md", "ask"),
        ("DOCS/a.md", "ask"),
    ],
)
def test_an_allowed_path_is_allowed_only_where_it_really_leads(path: str, said: str) -> None:
    assert verdict(Permissions(allow=["write(docs/**)"]), "write", path=path) == said


@pytest.mark.requirement("C-PERMISSIONS")
@pytest.mark.parametrize(
    "command",
    [
        "git status; rm -rf .",
        "git status && rm -rf .",
        "git status | sh",
        "git status > .bashrc",
        "git status $(rm -rf .)",
        "git status `rm -rf .`",
        "git status\nrm -rf .",
        "git status & rm -rf .",
        "git status <(rm -rf .)",
        "git status ${IFS}",
    ],
)
def test_a_wildcard_allows_one_command_and_never_what_is_hung_on_to_it(command: str) -> None:
    policy = Permissions(allow=["shell(git status*)"])

    assert verdict(policy, "shell", command=command) == "ask"
    assert verdict(policy, "shell", command="git status --short") == "allow"
    assert verdict(Permissions(allow=[f"shell({command})"]), "shell", command=command) == "allow"


@pytest.mark.requirement("C-PERMISSIONS")
@pytest.mark.parametrize(
    "command", ["rm -rf x", "ls; rm x", "ls &&  rm   x", "(rm x)", "RM x", "echo `rm x`"]
)
def test_a_denied_command_is_found_among_others(command: str) -> None:
    assert verdict(Permissions("yolo", deny=["shell(rm *)"]), "shell", command=command) == "deny"


@pytest.mark.requirement("C-PERMISSIONS")
@pytest.mark.parametrize(
    "url",
    [
        "https://evil.test/.example.org/",
        "https://evil.test#.example.org/",
        "https://evil.test?.example.org/",
        "https://docs.example.org@evil.test/",
        "https://evil.test\\.example.org/",
        "https://docs.example.org.evil.test/",
        "http://docs.example.org/",
        "https://docs.example.org:99999/",
        "https:// docs.example.org/",
    ],
)
def test_an_allowed_site_is_allowed_and_none_that_only_looks_like_it(url: str) -> None:
    policy = Permissions(allow=["fetch(https://*.example.org/**)"])

    assert verdict(policy, "fetch", url=url) == "ask"
    assert verdict(policy, "fetch", url="https://DOCS.example.org/a?b#c") == "allow"
    assert verdict(policy, "fetch", url="https://docs.example.org") == "allow"


@pytest.mark.requirement("C-PERMISSIONS")
@pytest.mark.parametrize(
    "url",
    [
        "https://h.example.org/admin/x",
        "HTTPS://H.Example.ORG/admin/x",
        "https://h.example.org:443/admin/x",
        "https://h.example.org./admin/x",
        "https://h.example.org/%61dmin/x",
        "https://h.example.org/a/../admin/x",
        "https://h.example.org/a/%2e%2E/admin/x",
        "https://h.example.org/a/..%2Fadmin/x",
        "https://h.example.org/./admin/x",
        "https://h.example.org//admin/x",
        "https://h.example.org/a/%5c../..%5Cadmin/x",
        "https://h.example.org/admin/x#top",
        "https://h.example.org/admin/x?y=1",
        "http://h.example.org/admin/x",
        "http://h.example.org:80/admin/x",
    ],
)
@pytest.mark.parametrize(
    "rule",
    [
        "https://h.example.org/admin/**",
        "https://h.example.org:443/admin/**",
        "https://h.example.org/admin/x",
        "https://h.example.org/admin/x/",
    ],
)
def test_a_denied_address_is_denied_however_it_is_spelt(url: str, rule: str) -> None:
    assert verdict(Permissions("yolo", deny=[f"fetch({rule})"]), "fetch", url=url) == "deny"
    assert verdict(Permissions("yolo", ask=[f"fetch({rule})"]), "fetch", url=url) == "ask"


@pytest.mark.requirement("C-PERMISSIONS")
@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("https://h.example.org/caf%c3%a9/", "https://h.example.org/caf\u00e9/"),
        ("https://h.example.org/caf\u00e9/", "https://h.example.org/caf%C3%A9/"),
        ("https://[0:0::1]/", "https://[::1]/"),
        ("https://h.example.org/?q=%61", "https://h.example.org/?q=a"),
        ("https://h.example.org/100%", "https://h.example.org/100%25"),
    ],
)
def test_two_spellings_of_one_address_are_one_for_a_rule_that_denies(url: str, rule: str) -> None:
    assert verdict(Permissions("yolo", deny=[f"fetch({rule})"]), "fetch", url=url) == "deny"


@pytest.mark.requirement("C-PERMISSIONS")
@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://docs.example.org/3/a", "allow"),
        ("https://docs.example.org:443/3/a/../b", "allow"),
        ("https://docs.example.org./3/%61", "allow"),
        ("https://docs.example.org/3/a%2Fb?c=%2e%2e%2f", "allow"),
        ("https://docs.example.org/3/../admin/x", "ask"),
        ("https://docs.example.org/3/%2e%2e/admin/x", "ask"),
        ("https://docs.example.org/3/%2E./admin/x", "ask"),
        ("https://docs.example.org/3/..%2fadmin/x", "ask"),
        ("https://docs.example.org/3/..%5cadmin/x", "ask"),
        ("https://docs.example.org:8443/3/a", "ask"),
        ("https://docs.example.org../3/a", "ask"),
        ("http://docs.example.org/3/a", "ask"),
    ],
)
def test_an_allowed_address_is_allowed_only_where_it_really_leads(url: str, said: str) -> None:
    policy = Permissions(allow=["fetch(https://docs.example.org/3/**)"])

    assert verdict(policy, "fetch", url=url) == said


@pytest.mark.requirement("C-PERMISSIONS")
@pytest.mark.parametrize(
    "host", ["1572395042", "0x5db8d822", "93.12114978", "0135.0270.0330.042", "1.2.3.4.5"]
)
def test_a_number_that_hides_an_address_is_allowed_by_no_pattern(host: str) -> None:
    assert verdict(Permissions(allow=["fetch(https://**)"]), "fetch", url=f"https://{host}/") == "ask"


@pytest.mark.requirement("C-PERMISSIONS")
def test_a_rule_may_be_about_any_argument_by_its_name() -> None:
    policy = Permissions(allow=["send_mail(to=*@example.org)"], deny=["send_mail(body=*password*)"])

    assert verdict(policy, "send_mail", to="ana@example.org") == "allow"
    assert verdict(policy, "send_mail", to="ana@evil.test") == "ask"
    assert verdict(policy, "send_mail", to="ana@example.org", body="the Password is") == "deny"
    assert verdict(Permissions(allow=["write(path=a/*)"]), "write", path="a/../a/b") == "allow"


@pytest.mark.requirement("C-PERMISSIONS")
def test_where_it_is_not_clear_what_a_pattern_is_about_it_forbids_and_never_allows() -> None:
    assert verdict(Permissions(allow=["send_mail(*@example.org)"]), "send_mail", to="a@example.org") == "ask"
    assert (
        verdict(Permissions("yolo", deny=["send_mail(*@example.org)"]), "send_mail", to="a@example.org")
        == "deny"
    )


@pytest.mark.requirement("C-PERMISSIONS")
def test_an_argument_that_is_left_out_is_what_it_is_by_default() -> None:
    assert verdict(Permissions(deny=["read(.)"]), "read") == "deny"


@pytest.mark.requirement("C-PERMISSIONS")
def test_a_rule_may_be_for_many_tools() -> None:
    policy = Permissions("yolo", deny=["*mail*"])

    assert verdict(policy, "send_mail", to="ana") == "deny"
    assert verdict(policy, "read", path="a") == "allow"


@pytest.mark.requirement("C-PERMISSIONS")
def test_an_argument_that_is_no_text_is_compared_as_json() -> None:
    assert verdict(Permissions("yolo", deny=["send_mail(to=*ana*)"]), "send_mail", to=["ana"]) == "deny"


@pytest.mark.requirement("C-NARROW")
def test_of_several_policies_the_strictest_counts() -> None:
    own = Permissions("accept-edits", allow=["shell"])

    narrowed = own.narrowed_by(Permissions("yolo", ask=["shell"], deny=["write(*.lock)"], allow=["fetch"]))

    assert verdict(narrowed, "write", path="a") == "allow"
    assert verdict(narrowed, "write", path="a.lock") == "deny"
    assert verdict(narrowed, "shell", command="ls") == "ask"
    assert verdict(narrowed, "fetch", url="https://example.org/") == "ask"


@pytest.mark.requirement("C-PERMISSIONS", "P8")
@pytest.mark.parametrize("rule", ["", "shell(", "shell)", "a b", "(x)", 7, None])
def test_what_is_no_rule_is_refused_with_an_example(rule: Any) -> None:
    with pytest.raises(InvalidInputError, match="is not a rule"):
        Permissions(deny=[rule])


@pytest.mark.requirement("C-MODES", "P8")
def test_what_is_no_mode_or_no_list_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="plan, ask, accept-edits, yolo"):
        Permissions("bypass")
    with pytest.raises(InvalidInputError, match="expected a list of rules"):
        Permissions(deny="shell")
