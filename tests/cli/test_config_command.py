"""``maverick config``: what is set and where, and a file to set it in."""

from __future__ import annotations

import stat

import pytest
import yaml

from canary import CANARY
from cli.folder import Folder
from maverick.cli import doctor
from maverick.config import AgentConfig, MaverickConfig, TemporalConfig, load_config


@pytest.mark.requirement("007-CONFIG")
def test_every_setting_is_shown_with_where_it_was_set_and_no_key(folder: Folder) -> None:
    folder.set("ANTHROPIC_API_KEY", CANARY)
    folder.write("maverick.yaml", "agent: {model: mine}\n")

    done = folder.main("config", "show")

    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert rows["agent.model"] == ["mine", "maverick.yaml"]
    assert rows["agent.api_key"] == ["***", "ANTHROPIC_API_KEY"]
    assert {f"agent.{name}" for name in AgentConfig.settings()} <= rows.keys()
    assert CANARY not in done.stdout + done.stderr
    settings = folder.json("config", "show")
    assert {"field": "agent.model", "value": "mine", "source": "maverick.yaml"} in settings


@pytest.mark.requirement("007-CONFIG", "002-R9")
@pytest.mark.parametrize(
    ("env", "provider", "model", "says"),
    [
        ({}, ["offline", "default, since no key is set"], [None, "default, since no key is set"], ""),
        (
            {"OPENAI_API_KEY": "k"},
            ["offline", "default, since an OpenAI key is set but no model is"],
            [None, "default, since an OpenAI key is set but no model is"],
            "",
        ),
        ({"ANTHROPIC_API_KEY": "k"}, ["claude", "default"], ["claude-sonnet-5-5", "default"], ""),
        (
            {"MAVERICK_AGENT_MODEL": "openai:gpt-5", "OPENAI_API_KEY": "k"},
            ["openai", "MAVERICK_AGENT_MODEL"],
            ["gpt-5", "MAVERICK_AGENT_MODEL"],
            "",
        ),
        (
            {"MAVERICK_AGENT_PROVIDER": "foo"},
            ["foo", "MAVERICK_AGENT_PROVIDER"],
            ["claude-sonnet-5-5", "default"],
            "There is no provider named 'foo'",
        ),
    ],
)
def test_what_is_shown_is_what_will_be_used(
    env: dict[str, str],
    provider: list[str],
    model: list[str | None],
    says: str,
    folder: Folder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, "_claude_cli", lambda: None)  # it takes a second to tell its version
    for name, value in env.items():
        folder.set(name, value)

    rows = {row["field"]: [row["value"], row["source"]] for row in folder.json("config", "show")}
    shown, examined = folder.main("config", "show"), folder.main("doctor")

    assert (rows["agent.provider"], rows["agent.model"]) == (provider, model)
    assert says in shown.stderr
    assert (says or f"{provider[0]}:{model[0] or ''} ({model[1]})") in examined.stdout
    assert examined.returncode == (1 if says else 0)


@pytest.mark.requirement("007-CONFIG")
def test_one_setting_is_shown_as_it_will_be_used(folder: Folder) -> None:
    folder.set("MAVERICK_AGENT_MODEL", "claude-opus-5-5")
    folder.set("ANTHROPIC_API_KEY", CANARY)

    assert folder.main("config", "get", "agent.model").stdout == "claude-opus-5-5\n"
    assert folder.json("config", "get", "agent.model")["source"] == "MAVERICK_AGENT_MODEL"
    assert CANARY not in folder.main("config", "get", "agent.api_key").stdout
    assert folder.main("config", "get", "agent.base_url").stderr == "agent.base_url is not set (default).\n"
    assert "Did you mean 'agent.model'?" in folder.refuse("config", "get", "agent.modle")


@pytest.mark.requirement("007-CONFIG")
def test_the_files_are_shown_with_whether_they_are_there(folder: Folder) -> None:
    project = folder.write("maverick.yaml", "")

    home, own = folder.main("config", "path").stdout.splitlines()

    assert home == f"{folder.path}/.maverick/config.yaml  (not there)"
    assert own == str(project)
    assert [file["exists"] for file in folder.json("config", "path")] == [False, True]


@pytest.mark.requirement("007-CONFIG")
@pytest.mark.parametrize(
    ("option", "name"), [([], ".maverick/config.yaml"), (["--project"], "maverick.yaml")]
)
def test_a_file_is_written_that_sets_nothing_until_it_is_edited(
    option: list[str], name: str, folder: Folder
) -> None:
    done = folder.main("config", "init", *option)

    file = folder.path / name
    assert done.stdout == f"{file}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert load_config() == MaverickConfig()


@pytest.mark.requirement("007-CONFIG")
def test_the_file_that_is_written_can_be_used_by_taking_comments_away(folder: Folder) -> None:
    folder.main("config", "init")
    file = folder.path / ".maverick" / "config.yaml"
    _, *lines = file.read_text().splitlines()

    file.write_text("\n".join(line.removeprefix("# ") for line in lines))

    assert load_config().agent == MaverickConfig().agent
    tree = yaml.safe_load(file.read_text())
    assert tree.keys() == MaverickConfig.settings().keys()
    assert tree["agent"].keys() == AgentConfig.settings().keys()
    assert tree["temporal"].keys() == TemporalConfig.settings().keys()


def test_a_projects_file_offers_nothing_that_is_a_persons_own(folder: Folder) -> None:
    folder.main("config", "init", "--project")

    text = (folder.path / "maverick.yaml").read_text()
    assert "api_key" not in text
    assert "# agents:" not in text


def test_nothing_is_written_over_unless_it_is_wanted(folder: Folder) -> None:
    file = folder.write("maverick.yaml", "agent: {model: mine}\n")

    assert "already exists" in folder.refuse("config", "init", "--project")
    assert file.read_text() == "agent: {model: mine}\n"
    assert folder.main("config", "init", "--project", "--force").returncode == 0


def test_a_wrong_setting_is_one_line(folder: Folder) -> None:
    folder.write("maverick.yaml", "agent: {modle: mine}\n")

    assert "Did you mean 'model'?" in folder.refuse("config", "show")


def test_a_place_that_can_not_be_written_to_is_told(folder: Folder) -> None:
    folder.write(".maverick", "a file in the way")

    assert "could not be written" in folder.refuse("config", "init")


@pytest.mark.requirement("007-CONFIG")
@pytest.mark.parametrize(
    "before",
    [
        "",
        "# mine\nagent:\n    effort: low # cheap\n    # model: commented\ntemporal:\n  queue: q\njournal: x.db\n",
        "journal: x.db\nagent: # the model\n",
    ],
)
def test_a_setting_is_written_and_the_rest_of_the_file_stays(before: str, folder: Folder) -> None:
    file = folder.write(".maverick/config.yaml", before)

    for key, value in (
        ("agent.model", "claude:claude-opus-5-5"),
        ("effort", "high"),
        ("journal", "my runs.db"),
        ("agent.max_tokens", "100"),
        ("temporal.tls", "true"),
        ("agent.model", "claude:claude-haiku-5-5"),
    ):
        done = folder.main("config", "set", key, value)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr

    config = load_config()
    assert (config.agent.model, config.agent.effort, config.agent.max_tokens) == (
        "claude:claude-haiku-5-5",
        "high",
        100,
    )
    assert (config.journal.get_secret_value(), config.temporal.tls) == ("my runs.db", True)
    written = file.read_text()
    assert all(
        kept in written for kept in ("# mine", "# cheap", "# model: commented", "queue: q") if kept in before
    )


@pytest.mark.requirement("007-CONFIG")
@pytest.mark.parametrize(
    ("words", "file", "says"),
    [
        (("agent.modell", "x"), "", "Did you mean 'agent.model'?"),
        (("agent.effort", "huge"), "", "agent.effort: expected"),
        (("agent.model", "sonnet"), "", "'sonnet' does not say which provider to use."),
        (("agent.model", "claude-cod:opus"), "", "claude-code"),
        (("agent.model", "openai:gpt-5"), "agent:\n  provider: claude\n", "agent.provider is 'claude'"),
        (("agent.model", "claude-x"), "agent: {model: y}\n", "Set agent.model in it with an editor."),
        (("agent.model", "x"), "agent: [\n", "is not valid YAML"),
        (("agent.api_key", CANARY, "--project"), "", "Leave out --project."),
    ],
)
def test_what_cannot_be_set_is_refused_and_nothing_is_written(
    words: tuple[str, ...], file: str, says: str, folder: Folder
) -> None:
    written = folder.write(".maverick/config.yaml", file)

    assert says in folder.refuse("config", "set", *words)

    assert written.read_text() == file
    assert not (folder.path / "maverick.yaml").exists()


def test_a_model_with_a_colon_in_its_name_is_set_where_the_provider_is(folder: Folder) -> None:
    folder.write(".maverick/config.yaml", "agent:\n  provider: openai\n")

    done = folder.main("config", "set", "agent.model", "llama3:8b")

    assert (done.returncode, load_config().agent.model) == (0, "llama3:8b")


@pytest.mark.requirement("007-CONFIG")
def test_a_key_is_read_from_standard_input_kept_private_and_what_counts_before_it_is_named(
    folder: Folder,
) -> None:
    folder.set("MAVERICK_AGENT_MODEL", "offline:")
    folder.write(".maverick/config.yaml", "agent:\n  model: a\n").chmod(0o644)

    done = folder.main("config", "set", "agent.api_key", said=f"{CANARY}\n")
    model = folder.main("config", "set", "model", "claude:x")

    file = folder.path / ".maverick" / "config.yaml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert CANARY not in done.stdout + done.stderr
    assert "(MAVERICK_AGENT_MODEL counts before it)" in model.stderr
    file.unlink()


@pytest.mark.parametrize("words", [("set", "model", "claude:x"), ("init", "--force")])
def test_nothing_is_written_through_a_link_in_the_place_of_a_projects_file(
    words: tuple[str, ...], folder: Folder
) -> None:
    other = folder.write("other.yaml", "agent:\n  model: a\n")
    (folder.path / "maverick.yaml").symlink_to(other)

    assert "is a link to" in folder.refuse("config", *words, "--project")

    assert other.read_text() == "agent:\n  model: a\n"


def test_a_setting_is_removed_and_the_rest_of_the_file_stays(folder: Folder) -> None:
    file = folder.write(".maverick/config.yaml", "# mine\nagent:\n  effort: low\n  model: claude:x\n")

    done = folder.main("config", "unset", "agent.model")

    assert done.returncode == 0, done.stderr
    assert file.read_text() == "# mine\nagent:\n  effort: low\n"
    assert "does not set agent.model" in folder.refuse("config", "unset", "agent.model")
    assert folder.main("config", "unset", "effort").returncode == 0
    assert load_config().agent.effort is None
