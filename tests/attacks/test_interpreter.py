"""Files that are executed by themselves: no command can write them, and a person is asked before a file tool does."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import struct
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import maverick
from maverick import AgentDefinition, AgentExecutor, ApprovalRequest, ToolConfig
from maverick.loop.policy import Verdict
from maverick.model import Tool, ToolCall
from maverick.testing import ScriptedClient, call, reply
from maverick.tools import Permissions, Workspace, coding_tools
from maverick.tools.coding.seccomp import no_set_id_filter
from programs import needs_sandbox
from tools.coding.desk import Desk

ITSELF = """
import asyncio, sys
from maverick.tools import Workspace, coding_tools
from maverick.model import ToolContext
context = ToolContext(run_id="r", trace_id="t", agent=("a",), turn=1, call_id="c", idempotency_key="r/1/0", deadline=0.0)
workspace = Workspace(sys.argv[1])
tools = {tool.name: tool for tool in coding_tools(workspace, sandbox=True)}
print(asyncio.run(tools["shell"].execute({"command": sys.argv[2]}, context)))
print(workspace.running, workspace.question(sys.argv[3]))
"""


def ruled(tools: dict[str, Tool], permissions: Permissions, name: str, **arguments: str) -> Verdict:
    return permissions.decide(ToolCall("1", name, arguments), tools[name]).verdict


@pytest.mark.requirement("ATTACK-INTERPRETER")
@needs_sandbox
def test_a_command_can_not_change_the_python_that_runs_the_agent(tmp_path: Path) -> None:
    root = tmp_path / "work"
    venv.create(root / "deep/.venv", symlinks=True)
    python = root / "deep/.venv/bin/python"
    (packages,) = (root / "deep/.venv/lib").glob("python*/site-packages")
    sources = os.pathsep.join([str(Path(maverick.__file__).parents[1]), *sys.path])
    below = packages.relative_to(root)
    command = (
        f"echo 'import os' > {below}/evil.pth; echo x > deep/.venv/bin/rg; echo x > deep/.venv/pyvenv.cfg; "
        f"mv deep/.venv deep/v; mv deep e; mkdir -p {below}; echo 'import os' > {below}/evil.pth; {python} -V"
    )

    done = subprocess.run(  # noqa: S603 - our own program
        [str(python), "-c", ITSELF, str(root), command, f"{below}/evil.pth"],
        env={"PYTHONPATH": sources, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )

    assert done.stdout.count("Read-only file system") >= 3
    assert "Python 3" in done.stdout
    assert "('deep/.venv',) deep/.venv is part of what runs this agent" in done.stdout
    assert not (packages / "evil.pth").exists()
    assert "home" in (root / "deep/.venv/pyvenv.cfg").read_text(encoding="utf-8")
    assert not (root / "deep/.venv/bin/rg").exists()


EXECUTED = [
    ".envrc",
    ".vscode/tasks.json",
    ".idea/runConfigurations/a.xml",
    "sub/.envrc",
    ".pre-commit-config.yaml",
    "sub/Team.Code-Workspace",
    ".config/fish/config.fish",
    ".github/copilot-instructions.md",
    "mise.toml",
    ".mise/config.toml",
    ".codex/config.toml",
    ".gemini/settings.json",
    "sub/.cargo/config.toml",
    ".yarnrc.yml",
    ".zlogin",
]


@pytest.mark.requirement("ATTACK-INTERPRETER", "C-MODES", "C-PERMISSIONS")
def test_a_person_is_asked_before_a_file_tool_writes_what_is_executed_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "env/lib/site-packages").mkdir(parents=True)
    (tmp_path / "env/bin").mkdir()
    (tmp_path / "env/pyvenv.cfg").touch()
    monkeypatch.setenv("PATH", f"{tmp_path}/env/bin:{os.environ['PATH']}")
    tools = {tool.name: tool for tool in coding_tools(Workspace(tmp_path), sandbox=False)}
    edits = Permissions("accept-edits", allow=["write_file"])

    for path in [*EXECUTED, "env/lib/site-packages/x.pth", "./a/../ENV/bin/rg", f"{tmp_path}/.envrc"]:
        assert ruled(tools, edits, "write_file", path=path) is Verdict.ASK, path
        assert ruled(tools, edits, "edit_file", path=path) is Verdict.ASK, path
        assert ruled(tools, Permissions("plan"), "write_file", path=path) is Verdict.DENY
        assert ruled(tools, Permissions("yolo"), "write_file", path=path) is Verdict.ALLOW
    assert ruled(tools, edits, "write_file", path="src/conftest.py") is Verdict.ALLOW
    assert ruled(tools, edits, "read_file", path=".envrc") is Verdict.ALLOW
    named = Permissions("ask", allow=["write_file(.vscode/**)"])
    assert ruled(tools, named, "write_file", path=".vscode/settings.json") is Verdict.ALLOW
    assert ruled(tools, named, "write_file", path=".idea/x.xml") is Verdict.ASK


@pytest.mark.requirement("ATTACK-INTERPRETER", "F-APPROVAL")
@pytest.mark.parametrize("answer", [True, False])
async def test_without_any_permissions_the_question_is_still_asked(answer: bool, tmp_path: Path) -> None:
    asked: list[str] = []

    async def approve(wanted: ApprovalRequest) -> bool:
        asked.append(wanted.arguments["path"])
        return answer

    tools = coding_tools(Workspace(tmp_path), sandbox=False)
    coder = AgentDefinition(name="coder", description="Codes.", tool_config=ToolConfig(tools=tools))
    client = ScriptedClient(
        [
            call("write_file", path=".envrc", content="x"),
            call("write_file", path="a.txt", content="x"),
            reply("Done."),
        ]
    )

    result = await AgentExecutor(client, approve=approve).execute(coder, inputs={"prompt": "Go."})

    assert result.success
    assert asked == [".envrc"]
    assert (tmp_path / ".envrc").exists() is answer
    assert (tmp_path / "a.txt").exists()


@pytest.mark.requirement("ATTACK-INTERPRETER")
@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("pip install requests", Verdict.ASK),
        ("cd x && python3 -m pip --quiet install -e .", Verdict.ASK),
        ("sudo apt-get -y install gcc", Verdict.ASK),
        ("npm ci", Verdict.ASK),
        ("uv add httpx; pytest", Verdict.ASK),
        ("sh -c 'poetry add httpx'", Verdict.ASK),
        (".venv/bin/pip install .", Verdict.ASK),
        ("pip list", Verdict.ALLOW),
        ("npm test", Verdict.ALLOW),
        ("grep -rn 'install' docs", Verdict.ALLOW),
        ("uv run pytest", Verdict.ALLOW),
    ],
)
@needs_sandbox
def test_a_person_is_asked_before_packages_are_installed(
    command: str, verdict: Verdict, tmp_path: Path
) -> None:
    tools = {tool.name: tool for tool in coding_tools(Workspace(tmp_path), sandbox=True)}

    assert ruled(tools, Permissions("accept-edits"), "shell", command=command) is verdict
    allowing = Permissions("accept-edits", allow=[f"shell({command})"])
    assert ruled(tools, allowing, "shell", command=command) is Verdict.ALLOW


WRITES = """
echo evil > .git/config; echo evil > .git/hooks/pre-commit; echo evil > .git/commondir; mv .git g
echo evil > inner/.git/config; mv inner other; mkdir inner; mkdir inner/.git; echo evil > inner/.git/config
echo evil > libs/empty/.git; mv libs/empty libs/full; mv libs slib; mkdir -p libs/empty/.git
echo evil > .vscode/tasks.json; mkdir .idea; echo evil > .idea/a.xml; echo evil > .envrc; ln -s /etc .zshrc
mkdir .husky; echo evil > .husky/pre-commit; echo evil > a.code-workspace; echo evil > b.code-workspace; true
"""


@pytest.mark.requirement("ATTACK-INTERPRETER", "C-SANDBOX")
@needs_sandbox
async def test_a_command_can_not_make_what_other_programs_execute_by_themselves(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "inner", "libs/empty", ".vscode", sandbox=True)
    for folder in (desk.root, desk.root / "inner"):
        subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)  # noqa: ASYNC221, S607 - the test's own
    shutil.rmtree(desk.root / ".git/hooks")
    (desk.root / "a.code-workspace").write_text("{}", encoding="utf-8")
    (desk.root / ".gitmodules").write_text('[submodule "e"]\n\tpath = libs/empty\n', encoding="utf-8")
    before = {path: path.read_bytes() for path in desk.root.rglob("*") if path.is_file()}

    answer = await desk.use("shell", command=WRITES)

    assert answer.endswith("[exit code 0]")
    assert {path: path.read_bytes() for path in before} == before
    made = {path for path in desk.root.rglob("*") if path.is_file() and path not in before}
    assert {path.relative_to(desk.root).parts[0].rpartition("-")[0] for path in made} == {
        ".envrc.held-back",
        ".husky.held-back",
        "b.code-workspace.held-back",
    }
    assert answer.count("is protected, so it was renamed") == 4
    assert not (desk.root / ".idea").exists()
    assert list((desk.root / "libs/empty").iterdir()) == []


@pytest.mark.requirement("ATTACK-INTERPRETER", "C-SANDBOX")
@needs_sandbox
async def test_where_there_is_no_repository_a_command_can_not_make_one(tmp_path: Path) -> None:
    desk = Desk(tmp_path, sandbox=True)

    answer = await desk.use(
        "shell", command="git init; mkdir -p .git/hooks; rmdir .git; mv .git g; ls -d .git"
    )

    assert "Read-only file system" in answer
    assert list(desk.root.iterdir()) == []


@pytest.mark.requirement("ATTACK-INTERPRETER", "C-SANDBOX")
@needs_sandbox
@pytest.mark.parametrize("commits", [True, False])
async def test_a_command_may_commit_only_where_it_was_allowed_and_never_change_settings_or_hooks(
    commits: bool, tmp_path: Path
) -> None:
    desk = Desk(tmp_path, sandbox=True, commits=commits)
    subprocess.run(["git", "init", "--quiet"], cwd=desk.root, check=True)  # noqa: ASYNC221, S607 - the test's own
    settings = (desk.root / ".git/config").read_bytes()

    answer = await desk.use(
        "shell",
        command="echo a > a; git add a && git -c user.name=A -c user.email=a@b commit -q -m 'Add a' && git log --oneline; "
        "git config core.fsmonitor evil; echo evil > .git/hooks/pre-commit; rm -rf .git/hooks; mv .git g; "
        "echo /tmp > .git/commondir; echo evil > .git/config.worktree",
    )

    assert ("Add a" in answer.partition("\n")[2]) is commits
    assert (desk.root / ".git/config").read_bytes() == settings
    assert not (desk.root / ".git/hooks/pre-commit").exists()
    assert not (desk.root / ".git/commondir").exists()
    assert not (desk.root / ".git/config.worktree").exists()


@pytest.mark.requirement("ATTACK-SET-ID", "C-SANDBOX")
@needs_sandbox
async def test_no_command_leaves_a_file_that_lends_its_owners_rights(tmp_path: Path) -> None:
    desk = Desk(tmp_path, sandbox=True)
    script = (
        "import os\n"
        "def attempt(act):\n"
        "    try: act()\n"
        "    except OSError as error: print(error.strerror)\n"
        "open('f', 'w').close()\n"
        "for mode in (0o4755, 0o2755, 0o6755):\n"
        "    attempt(lambda: os.chmod('f', mode))\n"
        "    attempt(lambda: os.chmod(os.open('f', os.O_RDONLY), mode))\n"
        "    attempt(lambda: os.chmod('f', mode, dir_fd=os.open('.', os.O_RDONLY)))\n"
        "    attempt(lambda: os.open('g', os.O_CREAT | os.O_WRONLY, mode))\n"
        "    attempt(lambda: os.open('.', os.O_TMPFILE | os.O_RDWR, mode))\n"
        "    attempt(lambda: os.mknod('h', mode))\n"
        "    attempt(lambda: os.mkdir('i', mode))\n"
        "os.chmod('f', 0o755)\n"
        "os.open('f', os.O_RDONLY, 0o4755)\n"
    )

    answer = await desk.use(
        "shell",
        command=f'cp /bin/sh s; chmod u+s s; chmod g+s s; install -m 4755 /bin/sh t; python3 -c "{script}"',
    )

    assert answer.count("Operation not permitted") >= 21
    assert answer.endswith("[exit code 0]")
    lent = [path.name for path in desk.root.rglob("*") if path.lstat().st_mode & 0o6000]
    assert lent == []
    assert stat.S_IMODE((desk.root / "f").stat().st_mode) == 0o755


def verdict(program: bytes, machine: int, number: int, *arguments: int) -> int:
    """What a kernel would make of a filter: 0 if the call is let through, else the error it fails with."""
    data = struct.pack("<IIQ6Q", number, machine, 0, *(arguments + (0,) * 6)[:6])
    at, value = 0, 0
    while True:
        code, jump_true, jump_false, k = struct.unpack_from("<HBBI", program, 8 * at)
        at += 1
        if code == 0x20:
            (value,) = struct.unpack_from("<I", data, k)
        elif code == 0x06:
            return 0 if k == 0x7FFF0000 else k & 0xFFFF
        else:
            holds = {0x15: value == k, 0x35: value >= k, 0x45: bool(value & k)}[code]
            at += jump_true if holds else jump_false


@pytest.mark.requirement("ATTACK-SET-ID")
def test_the_filter_knows_the_system_calls_of_other_machines_too() -> None:
    create = os.O_CREAT | os.O_WRONLY
    x86, arm = no_set_id_filter("x86_64"), no_set_id_filter("aarch64")
    assert x86 is not None
    assert arm is not None

    for number, arguments in {
        90: (0, 0o4755), 91: (3, 0o2755), 268: (-100 % 2**64, 0, 0o6755), 452: (0, 0, 0o4755), 83: (0, 0o2755),
        258: (0, 0, 0o2755), 133: (0, 0o104755), 259: (0, 0, 0o104755), 85: (0, 0o4755), 2: (0, create, 0o4755),
        257: (0, 0, create, 0o4755),
    }.items():  # fmt: skip
        assert verdict(x86, 0xC000003E, number, *arguments) == errno.EPERM, number
        harmless = (*arguments[:-1], arguments[-1] & ~0o6000)
        assert verdict(x86, 0xC000003E, number, *harmless) == 0, number
    assert verdict(x86, 0xC000003E, 257, 0, 0, os.O_RDONLY, 0o4755) == 0
    assert verdict(x86, 0xC000003E, 437) == verdict(x86, 0xC000003E, 425) == errno.ENOSYS
    assert verdict(x86, 0xC000003E, 0x40000000 + 90, 0, 0o755) == errno.ENOSYS
    assert verdict(x86, 0x40000003, 15, 0, 0o4755) == errno.ENOSYS  # the calls of 32 bits
    assert verdict(arm, 0xC00000B7, 53, 0, 0, 0o4755) == errno.EPERM
    assert no_set_id_filter("vax") is None
