"""Settings: where they come from, what they may be, and that no key is ever shown."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from canary import CANARY, lookout
from maverick.config import (
    DEFAULT,
    AgentConfig,
    MaverickConfig,
    RateLimit,
    Secret,
    Setting,
    TemporalConfig,
    load_config,
)
from maverick.exceptions import ConfigError

PART = CANARY[-20:]
"""A part of the secret that is short enough to be quoted with what is around it, if anything were."""


class Machine:
    """A home, a project and an environment that hold only what a test puts there."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = root / "project"
        self.home_file = self.home / ".maverick" / "config.yaml"
        self.project_file = self.project / "maverick.yaml"
        self.environ: dict[str, str] = {"MAVERICK_TRUST": str(self.project)}
        self.home_file.parent.mkdir(parents=True)
        self.project.mkdir()

    def load(self, overrides: Mapping[str, Mapping[str, object]] | None = None) -> MaverickConfig:
        return load_config(self.project, self.home, self.environ, overrides)

    def refuse(self) -> ConfigError:
        with pytest.raises(ConfigError) as caught:
            self.load()
        return caught.value


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def agent(**values: Any) -> AgentConfig:
    """An ``AgentConfig`` from values of any type, as a file would give them."""
    return AgentConfig(**values)


# What there is to set


@pytest.mark.requirement("002-R9", "002-AC6")
def test_the_defaults_cover_provider_model_parameters_timeout_and_credentials() -> None:
    defaults = MaverickConfig().agent
    assert defaults.provider == "claude"
    assert defaults.model == "claude-sonnet-5-5"
    assert defaults.max_tokens is None
    assert defaults.temperature is None
    assert defaults.request_timeout == 600
    assert defaults.api_key is None
    assert defaults.base_url is None


def test_with_nothing_set_loading_gives_the_defaults(machine: Machine) -> None:
    assert machine.load() == MaverickConfig()


def test_settings_cannot_be_changed_once_made() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        MaverickConfig().agent.model = "another"  # type: ignore[misc]


def test_settings_can_be_hashed_copied_and_pickled(machine: Machine) -> None:
    config = machine.load({"agent": {"model": "m"}})
    assert copy.deepcopy(config) == config
    assert pickle.loads(pickle.dumps(config)) == config  # noqa: S301 - our own bytes
    assert len({config, copy.deepcopy(config)}) == 1


@pytest.mark.requirement("002-R9")
@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (30, 30),
        (0.5, 0.5),
        ("90", 90),
        ("30s", 30),
        ("2m", 120),
        ("1m30s", 90),
        ("1.5h", 5400),
        (" 500ms ", 0.5),
    ],
)
def test_a_timeout_is_a_number_of_seconds_or_a_duration(written: object, seconds: float) -> None:
    assert agent(request_timeout=written).request_timeout == pytest.approx(seconds)


@given(st.integers(0, 99), st.integers(0, 59), st.integers(1, 59))
def test_a_duration_is_the_sum_of_its_parts(hours: int, minutes: int, seconds: int) -> None:
    assert agent(request_timeout=f"{hours}h{minutes}m{seconds}s").request_timeout == (
        hours * 3600 + minutes * 60 + seconds
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("provider", " "),
        ("provider", 1),
        ("model", ""),
        ("model", 4),
        ("max_tokens", -1),
        ("max_tokens", 1.5),
        ("max_tokens", "lots"),
        ("max_tokens", True),
        ("max_tokens", [1]),
        pytest.param("temperature", 10**5000, id="temperature-huge"),
        ("temperature", -0.5),
        ("temperature", 2.1),
        ("temperature", float("nan")),
        ("temperature", False),
        ("effort", "huge"),
        ("thinking", "on"),
        ("cache", "2h"),
        ("extra", "{"),
        ("extra", "[]"),
        ("server_tools", 3),
        ("request_timeout", 0),
        ("request_timeout", "0s"),
        ("request_timeout", float("inf")),
        ("request_timeout", "-3s"),
        ("request_timeout", "2 fortnights"),
        ("request_timeout", True),
        ("api_key", 12345),
        ("api_key", "two words"),
        ("api_key", "two\nlines"),
        ("api_key", "“quoted”"),
        ("base_url", "api.example.com"),
        ("base_url", "ftp://api.example.com"),
        ("base_url", "https://"),
        ("base_url", "https://api.example.com:port"),
        ("base_url", "https://ana:pw@api.example.com"),
        ("base_url", "https://api.example.com/a b"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_the_name_of_its_field(name: str, value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        agent(**{name: value})
    assert caught.value.field == f"agent.{name}"
    assert caught.value.source == "argument"


@pytest.mark.parametrize(
    "address",
    ["https://api.example.com", "http://localhost:8080/v1", "http://[::1]:9/", "http://10.0.0.7/a?b"],
)
def test_a_base_url_is_any_web_address(address: str) -> None:
    assert agent(base_url=address).base_url == address


def test_an_empty_key_or_address_is_none() -> None:
    config = agent(api_key="  ", base_url="")
    assert config.api_key is None
    assert config.base_url is None


def test_a_key_loses_the_line_break_a_file_ends_with() -> None:
    assert agent(api_key=CANARY + "\n").api_key == Secret(CANARY)
    assert agent(api_key=Secret(CANARY + "\n")).api_key == Secret(CANARY)


def test_a_key_may_come_as_a_secret_of_pydantic() -> None:
    assert agent(api_key=SecretStr(CANARY + "\n")).api_key == Secret(CANARY)


@pytest.mark.parametrize(
    "wrong", [{"agent": 5}, {"agent": {"model": "m"}}, {"journal": 7}, {"journal": " "}, {"database": None}]
)
def test_settings_made_by_hand_raise_the_same_typed_error(wrong: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        MaverickConfig(**wrong)
    assert (caught.value.field, caught.value.source) == (*wrong, "argument")


@pytest.mark.parametrize("wrong", [{"agent": 5}, {"agnt": {}}, {1: 2}, 7, [1]])
def test_what_a_program_passes_for_settings_is_checked_as_a_file_is(machine: Machine, wrong: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        machine.load(wrong)
    assert caught.value.source == "argument"


# Where settings come from


@pytest.mark.requirement("002-R9")
def test_each_layer_overrides_the_one_below_it(machine: Machine) -> None:
    def model() -> str:
        return machine.load().agent.model

    machine.home_file.write_text("agent: {model: from-home}")
    assert model() == "from-home"
    machine.project_file.write_text("agent: {model: from-project}")
    assert model() == "from-project"
    machine.environ["MAVERICK_AGENT_MODEL"] = "from-environment"
    assert model() == "from-environment"
    assert machine.load({"agent": {"model": "from-argument"}}).agent.model == "from-argument"


def test_layers_are_merged_setting_by_setting(machine: Machine) -> None:
    machine.home_file.write_text("agent: {model: from-home, max_tokens: 10}")
    machine.project_file.write_text("agent: {max_tokens: 20}")
    machine.environ["MAVERICK_AGENT_TEMPERATURE"] = "0.5"
    config = machine.load().agent
    assert (config.model, config.max_tokens, config.temperature) == ("from-home", 20, 0.5)


@pytest.mark.requirement("002-R9")
def test_every_setting_has_a_variable(machine: Machine) -> None:
    machine.environ |= {
        "MAVERICK_AGENT_PROVIDER": "openai",
        "MAVERICK_AGENT_MODEL": "m",
        "MAVERICK_AGENT_MAX_TOKENS": "100",
        "MAVERICK_AGENT_TEMPERATURE": "0.7",
        "MAVERICK_AGENT_EFFORT": "high",
        "MAVERICK_AGENT_THINKING": "2000",
        "MAVERICK_AGENT_STOP_SEQUENCES": "END, STOP",
        "MAVERICK_AGENT_TOOL_CHOICE": "required",
        "MAVERICK_AGENT_TOP_P": "0.5",
        "MAVERICK_AGENT_CACHE": "1h",
        "MAVERICK_AGENT_SERVER_TOOLS": "web_search",
        "MAVERICK_AGENT_EXTRA": '{"service_tier": "flex"}',
        "MAVERICK_AGENT_REQUEST_TIMEOUT": "2m",
        "MAVERICK_AGENT_CONNECT_TIMEOUT": "5",
        "MAVERICK_AGENT_FIRST_CONTENT_TIMEOUT": "30s",
        "MAVERICK_AGENT_BETWEEN_CONTENT_TIMEOUT": "20",
        "MAVERICK_AGENT_API_KEY": CANARY,
        "MAVERICK_AGENT_BASE_URL": "https://api.example.com",
    }
    assert machine.load().agent == AgentConfig(
        provider="openai",
        model="m",
        max_tokens=100,
        temperature=0.7,
        effort="high",
        thinking=2000,
        stop_sequences=("END", "STOP"),
        tool_choice="required",
        top_p=0.5,
        cache="1h",
        server_tools=("web_search",),
        extra={"service_tier": "flex"},
        request_timeout=120,
        connect_timeout=5,
        first_content_timeout=30,
        between_content_timeout=20,
        api_key=Secret(CANARY),
        base_url="https://api.example.com",
    )
    assert len(machine.environ.keys() - {"MAVERICK_TRUST"}) == len(AgentConfig.settings())


def test_the_temporal_server_of_a_fleet_is_set_in_a_file_or_the_environment(machine: Machine) -> None:
    machine.home_file.write_text("temporal: temporal.example:7233\n")
    assert machine.load().temporal == TemporalConfig(address="temporal.example:7233")

    machine.project_file.write_text("temporal: {address: 'temporal://other/acme', queue: shop, tls: true}\n")
    machine.environ |= {
        "MAVERICK_TEMPORAL_NAMESPACE": "prod",
        "MAVERICK_TEMPORAL_API_KEY": CANARY,
        "MAVERICK_TEMPORAL_TLS_CA": "ca.pem",
    }
    assert machine.load().temporal == TemporalConfig(
        address="temporal://other/acme",
        namespace="prod",
        api_key=Secret(CANARY),
        tls=True,
        tls_ca="ca.pem",
        queue="shop",
    )
    assert CANARY not in str(machine.load().describe())
    del machine.environ["MAVERICK_TRUST"]
    assert machine.load().temporal.address == "temporal.example:7233"
    assert machine.load().ignored == ("temporal.address", "temporal.queue", "temporal.tls")


def test_limits_of_a_fleet_come_from_files_and_variables_and_not_from_a_project_that_is_not_trusted(
    machine: Machine,
) -> None:
    machine.home_file.write_text("rate_limits: {claude: {tokens_per_minute: 400000}}")
    machine.project_file.write_text(
        "rate_limits: {claude: {requests_per_minute: 1}}\nmax_runs_per_user: 100000"
    )
    machine.environ = {"MAVERICK_MAX_RUNS_PER_USER": "7"}

    config = machine.load()

    assert (config.rate_limits, config.max_runs_per_user) == ({"claude": RateLimit(None, 400_000)}, 7)
    assert config.ignored == ("rate_limits", "max_runs_per_user")
    machine.environ["MAVERICK_RATE_LIMITS"] = '{"openai": {"requests_per_minute": 50}}'
    assert machine.load().rate_limits == {"openai": RateLimit(50)}


@pytest.mark.parametrize(
    "written",
    ["x", "[]", '{"claude": 3}', '{"claude": {"requests": 3}}', '{"claude": {"tokens_per_minute": 0}}'],
)
def test_rate_limits_that_do_not_fit_are_named(machine: Machine, written: str) -> None:
    machine.environ["MAVERICK_RATE_LIMITS"] = written

    with pytest.raises(ConfigError, match="rate_limits: expected requests_per_minute and tokens_per_minute"):
        machine.load()


@pytest.mark.parametrize(
    "address",
    ["http://host:7233", "host:7233/acme", "temporal://ana:secret@host", "temporal://host/a/b", "a b"],
)
def test_an_address_of_temporal_that_is_none_is_refused(machine: Machine, address: str) -> None:
    machine.environ["MAVERICK_TEMPORAL"] = address

    assert "temporal.address: expected host:port, or temporal://" in str(machine.refuse())
    assert "secret" not in str(machine.refuse())


@pytest.mark.parametrize(
    "content", ["", "\n\n", "# nothing yet\n", "---\n", "agent:\n", "agent:\n  model:\n"]
)
def test_a_file_may_be_empty_and_null_sets_nothing(machine: Machine, content: str) -> None:
    machine.home_file.write_text("agent: {model: from-home}")
    machine.project_file.write_text(content)
    assert machine.load().agent.model == "from-home"


def test_an_empty_variable_sets_nothing(machine: Machine) -> None:
    machine.environ["MAVERICK_AGENT_MAX_TOKENS"] = ""
    machine.environ["MAVERICK_AGENT_MODEL"] = " "
    assert machine.load() == MaverickConfig()


def test_a_file_may_be_a_link(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.yaml").write_text("agent: {model: linked}")
    machine.project_file.symlink_to(tmp_path / "elsewhere.yaml")
    assert machine.load().agent.model == "linked"


def test_by_default_the_process_says_where_to_look(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.home_file.write_text("agent: {max_tokens: 10}")
    machine.project_file.write_text("agent: {temperature: 1}")
    monkeypatch.setenv("HOME", str(machine.home))
    monkeypatch.setenv("USERPROFILE", str(machine.home))
    monkeypatch.chdir(machine.project)
    monkeypatch.setenv("MAVERICK_AGENT_MODEL", "from-environment")
    config = load_config().agent
    assert (config.max_tokens, config.temperature, config.model) == (10, 1, "from-environment")


def test_a_user_without_a_home_has_no_home_file(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    assert load_config(machine.project, environ={}) == MaverickConfig()


def test_importing_reads_neither_the_environment_nor_yaml() -> None:
    probe = "import sys, maverick.config as c; assert 'yaml' not in sys.modules; c.MaverickConfig()"
    environ = {**os.environ, "MAVERICK_AGENT_MAX_TOKENS": "not a number"}
    subprocess.run([sys.executable, "-W", "error", "-c", probe], env=environ, check=True, timeout=60)  # noqa: S603


# What is said when they are wrong


@pytest.mark.requirement("002-R9")
@pytest.mark.parametrize("place", ["home_file", "project_file"])
def test_a_bad_value_in_a_file_is_blamed_on_the_file(machine: Machine, place: str) -> None:
    file: Path = getattr(machine, place)
    file.write_text("agent: {max_tokens: lots}")
    error = machine.refuse()
    assert error.source == str(file)
    assert error.field == "agent.max_tokens"
    assert str(error) == (
        "agent.max_tokens: expected a positive whole number, got 'lots' "
        f"(from {file}). Correct it there, or remove it to use the default."
    )


@pytest.mark.requirement("002-R9")
def test_a_bad_value_in_the_environment_is_blamed_on_the_variable(machine: Machine) -> None:
    machine.project_file.write_text("agent: {max_tokens: 5}")
    machine.environ["MAVERICK_AGENT_MAX_TOKENS"] = "lots"
    error = machine.refuse()
    assert (error.source, error.field) == ("MAVERICK_AGENT_MAX_TOKENS", "agent.max_tokens")
    assert "(from MAVERICK_AGENT_MAX_TOKENS)" in str(error)


def test_a_bad_value_that_is_overridden_does_no_harm(machine: Machine) -> None:
    machine.home_file.write_text("agent: {max_tokens: lots}")
    machine.environ["MAVERICK_AGENT_MAX_TOKENS"] = "7"
    assert machine.load().agent.max_tokens == 7


@pytest.mark.parametrize(
    ("content", "field", "nearest"),
    [
        ("agent: {modle: x}", "agent.modle", "'model'"),
        ("agent: {apikey: x}", "agent.apikey", "'api_key'"),
        ("agent: {timeout: }", "agent.timeout", "'request_timeout'"),
        ("agnt: {model: x}", "agnt", "'agent'"),
        ("max_tokens: 5", "max_tokens", "'agent.max_tokens'"),
    ],
)
def test_an_unknown_setting_is_refused_with_the_nearest_known_one(
    machine: Machine, content: str, field: str, nearest: str
) -> None:
    machine.project_file.write_text(content)
    error = machine.refuse()
    assert (error.source, error.field) == (str(machine.project_file), field)
    assert f"Did you mean {nearest}?" in str(error)


@pytest.mark.parametrize("variable", ["MAVERICK_AGENT_MODLE", "MAVERICK_MODEL"])
def test_a_misspelt_variable_is_refused_with_the_right_one(machine: Machine, variable: str) -> None:
    machine.environ |= {"MAVERICK_TRUST": "x", variable: "x"}
    error = machine.refuse()
    assert error.source == variable
    assert "Did you mean MAVERICK_AGENT_MODEL?" in str(error)


def test_a_variable_that_is_empty_or_another_programs_is_not_refused(machine: Machine) -> None:
    machine.environ |= {"MAVERICK_MODEL": "", "MAVERICK_AGENT_MODLE": " ", "MAVERICK_CACHE": "/var/cache"}
    assert machine.load().agent.source_of("model") == DEFAULT


def test_the_variables_kubernetes_makes_for_a_service_of_our_name_are_not_ours(machine: Machine) -> None:
    for suffix in (
        "PORT",
        "PORT_80_TCP",
        "PORT_80_TCP_ADDR",
        "PORT_80_TCP_PORT",
        "PORT_80_TCP_PROTO",
        "SERVICE_HOST",
        "SERVICE_PORT",
        "SERVICE_PORT_HTTP",
    ):
        machine.environ[f"MAVERICK_AGENT_{suffix}"] = "tcp://10.0.0.1:80"
    assert machine.load() == MaverickConfig()


@pytest.mark.parametrize("content", ["[]", "- agent", "just words", "5", "agent: 5", "agent: [model]"])
def test_a_file_that_is_not_made_of_settings_is_refused(machine: Machine, content: str) -> None:
    machine.project_file.write_text(content)
    error = machine.refuse()
    assert error.source == str(machine.project_file)
    assert "expected settings" in str(error).lower()


def test_invalid_yaml_is_refused_with_its_line(machine: Machine) -> None:
    machine.project_file.write_text("agent:\n  model: m\n\tmax_tokens: 5\n")
    error = machine.refuse()
    assert error.source == str(machine.project_file)
    assert f"{machine.project_file} is not valid YAML at line 3, column 1." in str(error)


@pytest.mark.parametrize(
    "content",
    [
        b"agent: {model: 2025-99-99}",
        b"agent: {model: !!bool maybe}",
        b"agent: {max_tokens: !!int ''}",
        b"agent: " + b"[" * 5000,
        b"agent: \x01",
        b"agent: {model: \xff\xfe}",
        b"agent: !!python/object/apply:os.getcwd []",
    ],
)
def test_whatever_the_yaml_parser_does_the_error_is_ours(machine: Machine, content: bytes) -> None:
    machine.project_file.write_bytes(content)
    assert "is not valid YAML" in str(machine.refuse())


@settings(deadline=None)  # it writes files
@given(
    st.binary(max_size=100) | st.text("agent:model{}[]'\"!&*#|>-?%,.0x1e \n\t", max_size=40).map(str.encode)
)
def test_no_file_however_odd_raises_anything_else(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    folder = tmp_path_factory.getbasetemp()
    for start in (b"", b"agent: ", b"agent:\n  model: ", b"agent:\n  api_key: "):
        (folder / "maverick.yaml").write_bytes(start + content)
        with suppress(ConfigError):
            assert isinstance(load_config(folder, folder, {}), MaverickConfig)


def test_a_huge_file_is_refused(machine: Machine) -> None:
    machine.project_file.write_text("# " + "x" * 65_536)
    assert "larger than 64 KiB" in str(machine.refuse())


def test_a_folder_in_place_of_the_file_is_refused(machine: Machine) -> None:
    machine.project_file.mkdir()
    assert "is not a file" in str(machine.refuse())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_in_place_of_the_file_is_refused_and_not_waited_for(machine: Machine) -> None:
    os.mkfifo(machine.project_file)
    assert "is not a file" in str(machine.refuse())


def test_a_file_that_cannot_be_read_is_refused_with_the_reason(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    machine.project_file.write_text("agent: {}")
    monkeypatch.setattr(Path, "open", denied)
    error = machine.refuse()
    assert error.source == str(machine.project_file)
    assert "could not be read: Permission denied" in str(error)


# Keys


@pytest.mark.requirement("002-R9")
@pytest.mark.parametrize(
    ("provider", "variables"),
    [
        ("claude", ("MAVERICK_AGENT_API_KEY", "ANTHROPIC_API_KEY")),
        ("claude-sdk", ("MAVERICK_AGENT_API_KEY", "ANTHROPIC_API_KEY")),
        ("openai", ("MAVERICK_AGENT_API_KEY", "OPENAI_API_KEY")),
        ("offline", ("MAVERICK_AGENT_API_KEY",)),
    ],
)
def test_a_missing_key_is_looked_for_in_our_variable_and_then_in_the_providers(
    provider: str, variables: tuple[str, ...]
) -> None:
    config = AgentConfig(provider=provider)
    assert config.api_key_variables == variables
    assert config.resolve_api_key({}) is None

    environ = {"ANTHROPIC_API_KEY": "claudes", "OPENAI_API_KEY": "openais", "MAVERICK_AGENT_API_KEY": " "}
    expected = {"claude": "claudes", "claude-sdk": "claudes", "openai": "openais"}.get(provider)
    assert config.resolve_api_key(environ) == (Secret(expected) if expected else None)

    environ["MAVERICK_AGENT_API_KEY"] = "ours"
    assert config.resolve_api_key(environ) == Secret("ours")


@pytest.mark.requirement("002-R9")
def test_a_key_that_is_set_needs_no_environment() -> None:
    config = AgentConfig(api_key=Secret("set"))
    assert config.resolve_api_key({"MAVERICK_AGENT_API_KEY": "ours"}) == Secret("set")


def test_by_default_the_key_is_looked_for_in_the_process_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAVERICK_AGENT_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "claudes")
    assert AgentConfig().resolve_api_key() == Secret("claudes")


def test_a_variable_that_cannot_be_a_key_is_refused_by_its_name_alone() -> None:
    with pytest.raises(ConfigError) as caught:
        AgentConfig().resolve_api_key({"ANTHROPIC_API_KEY": f"{CANARY}\n{CANARY}"})
    assert (caught.value.source, caught.value.field) == ("ANTHROPIC_API_KEY", "agent.api_key")
    assert CANARY not in str(caught.value)


def test_a_key_is_not_in_what_is_printed_dumped_or_described(machine: Machine) -> None:
    machine.environ["MAVERICK_AGENT_API_KEY"] = CANARY
    config = machine.load()
    assert config.agent.api_key == Secret(CANARY)
    for shown in (
        repr(config),
        str(config),
        str(config.agent.api_key),
        f"{config.agent.api_key}",
        repr(msgspec.to_builtins(config, enc_hook=str)),
        repr(config.describe(machine.environ)),
    ):
        assert PART not in shown


@pytest.mark.parametrize(
    "content",
    [
        "agent:\n  api_key: KEY KEY",
        "agent:\n  api_key: [KEY]",
        "agent:\n  api_key: {KEY}",
        'agent:\n  api_key: "KEY',
        "agent:\n  api_key: KEY\n\tmodel: m",
        "agent:\n  api_key: KEY: x",
        "agent:\n  api_key: *KEY",
        "agent:\n  api_key: !KEY x",
        "agent:\n  api_key KEY",
        "agent: { KEY }",
        "agent:\n  KEY: x",
        "agent:\n  max_tokens: KEY",
        "agent:\n  base_url: https://KEY@api.example.com",
        "agent:\n  base_url: http://:PART@b",
        "KEY: x",
        "KEY",
    ],
)
def test_no_error_tells_a_key_wherever_it_was_written(machine: Machine, content: str) -> None:
    lookout.plant(machine.project_file, content.replace("KEY", CANARY).replace("PART", PART))
    error = machine.refuse()
    assert error.source == str(machine.project_file)
    assert PART not in f"{error} {error!r} {error.field}"
    assert PART not in "".join(traceback.format_exception(error, chain=True))
    assert error.__cause__ is None
    assert error.__context__ is None


# Where a key may go


def test_a_persons_key_may_go_where_the_person_says(machine: Machine) -> None:
    machine.project_file.write_text("agent: {base_url: 'https://collector.example.com'}")
    machine.environ["MAVERICK_AGENT_BASE_URL"] = "https://gateway.example.com"
    assert machine.load().agent.base_url == "https://gateway.example.com"
    del machine.environ["MAVERICK_AGENT_BASE_URL"]
    machine.project_file.unlink()
    machine.home_file.write_text("agent: {base_url: 'https://gateway.example.com'}")
    assert machine.load().agent.base_url == "https://gateway.example.com"


# Showing them


@pytest.mark.requirement("002-R9")
def test_every_setting_is_described_with_its_source(machine: Machine) -> None:
    machine.home_file.write_text(
        "agent: {max_tokens: 10, effort: max, thinking: off, stop_sequences: [a, b], "
        "server_tools: [web_search, {type: mcp, token: hidden}], extra: {metadata: hidden}}"
    )
    machine.project_file.write_text("agent: {provider: openai}")
    machine.environ |= {"MAVERICK_AGENT_TEMPERATURE": "0.5", "OPENAI_API_KEY": CANARY}
    config = machine.load({"agent": {"model": "m"}})
    assert config.describe(machine.environ) == [
        Setting("agent.provider", "openai", str(machine.project_file)),
        Setting("agent.model", "m", "argument"),
        Setting("agent.max_tokens", 10, str(machine.home_file)),
        Setting("agent.temperature", 0.5, "MAVERICK_AGENT_TEMPERATURE"),
        Setting("agent.effort", "max", str(machine.home_file)),
        Setting("agent.thinking", "off", str(machine.home_file)),
        Setting("agent.stop_sequences", "a, b", str(machine.home_file)),
        Setting("agent.tool_choice", None, "default"),
        Setting("agent.top_p", None, "default"),
        Setting("agent.cache", None, "default"),
        Setting("agent.server_tools", "web_search, mcp", str(machine.home_file)),
        Setting("agent.extra", "metadata", str(machine.home_file)),
        Setting("agent.request_timeout", 600, "default"),
        Setting("agent.connect_timeout", 10, "default"),
        Setting("agent.first_content_timeout", 600, "default"),
        Setting("agent.between_content_timeout", 300, "default"),
        Setting("agent.api_key", "***", "OPENAI_API_KEY"),
        Setting("agent.base_url", None, "default"),
        *(
            Setting(f"temporal.{name}", value, "default")
            for name, value in msgspec.structs.asdict(TemporalConfig()).items()
            if name != "sources"
        ),
        Setting("journal", "~/.maverick/runs.db", "default"),
        Setting("database", "~/.maverick/chat.db", "default"),
        Setting("agents", None, "default"),
        Setting("rate_limits", None, "default"),
        Setting("max_runs_per_user", 100, "default"),
    ]


def test_a_key_that_is_nowhere_is_described_as_missing() -> None:
    assert Setting("agent.api_key", None, "default") in MaverickConfig().describe({})


def test_settings_made_by_hand_are_described_as_arguments() -> None:
    config = MaverickConfig(agent=AgentConfig(model="m", api_key=Secret(CANARY)))
    described = config.describe({"ANTHROPIC_API_KEY": "another"})
    assert Setting("agent.model", "m", "argument") in described
    assert Setting("agent.api_key", "***", "argument") in described
    assert Setting("agent.provider", "claude", "default") in described


@pytest.mark.parametrize("written", ["office.people, tools", ["office.people", "tools"]])
def test_modules_with_agents_are_a_list_or_names_with_commas(written: Any) -> None:
    assert MaverickConfig(agents=written).agents == ("office.people", "tools")


def test_modules_with_agents_come_from_the_environment(machine: Machine) -> None:
    machine.environ["MAVERICK_AGENTS"] = "office.people"

    assert machine.load().agents == ("office.people",)


@pytest.mark.parametrize("written", ["office/people.py", ["2"], [""], 3])
def test_what_is_no_module_is_refused(written: Any) -> None:
    with pytest.raises(ConfigError, match="agents: expected names of Python modules"):
        MaverickConfig(agents=written)
