"""What holds for every command: its data as JSON, its help, what the shell completes, and how little it loads."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli import shop, yard
from tests.cli.conftest import Run, begin, invoke
from typer.main import get_command

from adjourn import Agent, Runtime
from adjourn.cli.command_table import GROUPS, app
from adjourn.cli.terminal.console import _ASCII
from adjourn.core.records import Started
from adjourn.secrets import KeyRing
from adjourn.stores.fleet import Misfit
from adjourn.testing import ScriptedModel

SHOP, YARD = str(Path(shop.__file__)), str(Path(yard.__file__))

JSON: dict[str, list[str]] = {
    "run": [f"{SHOP}:make", "x"], "start": [f"{SHOP}:make", "x"],
    "runs": [], "show": ["RUN"], "requests": ["RUN"], "watch": ["RUN", "--rest"], "inbox": [], "policies": [],
    "approve": ["RUN"], "deny": ["RUN"], "answer": ["ASK", "yes"], "dismiss": ["ASK"], "assign": ["RUN", "zoe"],
    "snooze": ["RUN", "2m"], "comment": ["RUN", "x"], "retry": ["FAILED", "--all"],
    "standing": ["STOOD RUN"], "revoke": ["STOOD"],
    "bulk": ["pause", "--status", "waiting", "--yes"],
    "pause": ["RUN"], "resume": ["PAUSED"], "cancel": ["RUN"], "accept": ["ASK"], "chapter": ["RUN"],
    "say": ["RUN", "x"],
    "fork": ["RUN"], "again": ["RUN", f"{SHOP}:refunds"], "halt": ["tool:x", "--reason", "y"], "unhalt": ["tool:x"],
    "erase": ["ENDED", "--reason", "y", "--yes"], "db scrub": [], "hold": ["ENDED", "--reason", "y"],
    "db prune": ["--older", "30d"],
    "audit show": [], "audit verify": [], "audit seal": [], "audit anchor": [],
    "audit export": [], "checkpoint show": ["saved.json"],
    "checkpoint verify": ["saved.json"], "checkpoint resume": ["saved.json", f"{SHOP}:refunds", "--deny"], "db info": [],
    "db upgrade": [], "db backup": ["copy.db"], "db restore": ["before.db"], "db check": [], "db rewrap": [],
    "db copy": ["adjourn.db", "elsewhere.db"],
    "user add": ["ana"], "user list": [], "user key": ["ben"],
    "user remove": ["ben"], "user keys": ["ben"], "user revoke": ["KEY"], "user role": ["ben", "viewer"], "user groups": ["ben"],
    "user logout": ["ben"],
    "user grants": ["ben", "viewer of agent:refunds"], "user session-key": ["chat-7"],
    "user copy": ["adjourn.db-users", "--users", "new.db"], "keys new": ["signing.pem"], "keys show": ["there.pem"], "keys require": [],
    "notify add": ["hook", "https://hooks.example/x"], "notify list": [], "notify remove": ["desk"],
    "workers": [], "numbers": [], "compare": ["RUN", "ASK"], "doctor": [], "version": [],
}  # fmt: skip
"""How each command is called for its data. Two are for other tests, because they last: `serve` and `worker`; and `demo`."""
LASTING = {"serve", "mcp", "worker", "schedule", "demo"}
ELSEWHERE = {"db restored", "notify test"}
"""What is for PostgreSQL alone, or needs another side, and is tested there."""


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name in command.list_commands(None):
        one = command.get_command(None, name)
        if hasattr(one, "list_commands"):
            yield from leaves(one, (*path, name))
        else:
            yield " ".join((*path, name)), one


LEAVES = dict(leaves(get_command(app)))


@pytest.mark.parametrize("name", LEAVES)
def test_it_has_json_and_a_help_that_explains_every_word(name: str) -> None:
    command = LEAVES[name]
    assert command.help and command.help.strip()[0].isupper()
    options = [option for p in command.params for option in p.opts]
    assert "--json" in options
    assert all(getattr(p, "help", "x") for p in command.params), f"{name} has a word without a help"


async def refused(run: str) -> None:
    """A worker says that its program is another one."""
    async with Runtime("sqlite:///adjourn.db", work=False) as rt:
        row = await rt.store.get(run)
        await rt.store.misfits(Misfit(run, row.seq, "tools are gone", {"name": row.program, "tools": {}}))


def test_every_command_is_called_for_its_data() -> None:
    assert set(JSON) == set(LEAVES) - LASTING - ELSEWHERE


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder with something in it for every command, made once and copied by each test; what is there, by name."""
    folder = tmp_path_factory.mktemp("furnished")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.delenv("ADJOURN_DB", raising=False)
        [waiting] = asyncio.run(begin(shop.refunds))
        [stands] = asyncio.run(begin(shop.refunds))
        asked, paused, failed = asyncio.run(begin(shop.asker, shop.refunds, shop.failing))
        invoke("pause", paused)
        assert invoke("db", "backup", "before.db").code == 0
        [ended] = asyncio.run(begin(Agent("clerk", model=ScriptedModel("done"))))
        Path("saved.json").write_text(invoke("show", waiting, "--checkpoint").out)
        key = invoke("user", "add", "ben", "--role", "admin").out.strip()
        patch.setenv("ADJOURN_KEY", key)
        assert invoke("user", "add", "zoe", "--role", "admin").code == 0  # ben is not the last
        invoke("keys", "new", "there.pem")
        assert invoke("notify", "add", "desk", "https://hooks.example/y").code == 0
        asyncio.run(refused(asked))
        assert invoke("inbox").code == 0  # what was shown may be decided
        stood = json.loads(invoke("approve", stands, "--stands", "--json").out)["ref"]
    names = {"RUN": waiting, "ASK": asked, "PAUSED": paused, "KEY": key, "FAILED": failed, "ENDED": ended}
    return folder, {**names, "STOOD": stood, "STOOD RUN": stands}


@pytest.mark.parametrize("name", JSON)
def test_its_json_is_data_on_stdout(
    name: str, adjourn: Run, furnished: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, names = furnished
    shutil.copytree(folder, ".", dirs_exist_ok=True)
    monkeypatch.setenv("ADJOURN_KEY", names["KEY"])
    monkeypatch.setenv("ADJOURN_SECRET_KEYS", KeyRing.new_key())
    assert adjourn("inbox").code == 0  # what was shown may be decided
    said = adjourn(*name.split(), *(names.get(word, word) for word in JSON[name]), "--json")
    assert said.code in (0, 3), said.err
    assert said.out.isascii() and not [c for c in said.out if c != "\n" and not c.isprintable()]
    try:
        assert json.loads(said.out) is not None
    except json.JSONDecodeError:
        assert all(json.loads(line) for line in said.out.splitlines()), "a stream has one value a line"


@pytest.mark.parametrize("name", [name for name in JSON if name != "version"])
def test_an_error_is_json_too(name: str, adjourn: Run) -> None:
    if name == "doctor":
        return  # it tells, it does not fail
    words = ["absent.py:x" if word == f"{SHOP}:make" else word for word in JSON[name]]
    words += ["--role", "king"] if name == "user add" else []  # a first user needs no database
    words = ["absent/signing.pem"] if name == "keys new" else words
    said = adjourn(*name.split(), *words, "--json")
    assert said.code in (1, 2) and said.out == "" and "error" in json.loads(said.err)


WITHOUT_A_DATABASE = ("version", "doctor", "db copy", "keys new", "keys show")


@pytest.mark.parametrize("name", [name for name in JSON if name not in WITHOUT_A_DATABASE])
def test_a_database_whose_path_the_system_refuses_is_told(name: str, adjourn: Run) -> None:
    """A path of a folder that one may not enter is another such path; but root may enter all of them."""
    words = [word for word in JSON[name] if word not in ("--users", "new.db")]
    said = adjourn(*name.split(), *words, "--db", "x" * 5000 + ".db", "--json")
    told = json.loads(said.err)["error"]
    assert said.code in (1, 2) and said.out == "" and told["status"] in (404, 422, 503)


@pytest.mark.parametrize("name", [*LEAVES, "audit", "checkpoint", "db", "user", ""])
def test_its_help_is_plain_text(name: str, adjourn: Run) -> None:
    said = adjourn(*name.split(), "--help")
    assert said.code == 0 and said.out.startswith("Usage: adjourn") and "\x1b" not in said.out


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["help"], []])
def test_the_help_lists_every_command_in_its_group(words: list[str], adjourn: Run) -> None:
    said = adjourn(*words)
    assert said.code == 0
    for group, commands in GROUPS.items():
        section = said.out.partition(f"\n{group}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in section.splitlines()] == [*commands]


@pytest.mark.parametrize("words", [["runs", "-h"], ["help", "runs"]])
def test_the_help_of_a_command_has_two_more_ways(words: list[str], adjourn: Run) -> None:
    assert adjourn(*words) == adjourn("runs", "--help")


def test_the_version_is_an_option_too(adjourn: Run) -> None:
    assert adjourn("--version").out == adjourn("version").out != ""


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("rnus", "Unknown command 'rnus'. Did you mean 'runs'?"),
        ("aprove 1", "Did you mean 'approve'?"),
        ("runs --limt 3", "No such option: --limt. Did you mean --limit?"),
        ("db chek", "Did you mean 'check'?"),
        ("help rnus", "Did you mean 'runs'?"),
        ("qqqq", "Unknown command 'qqqq'."),
    ],
)
def test_a_wrong_word_is_answered_with_the_right_one(typed: str, said: str, adjourn: Run) -> None:
    done = adjourn(*typed.split())
    assert done.code == 2 and said in done.err and done.out == ""


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["runs", "--agent", "refnds"], "did you mean 'refunds'?"),
        (["runs", "--status", "waitng"], "unknown status"),
        (["inbox", "--agent", "Refunds"], "did you mean 'refunds'?"),
        (["inbox", "--kind", "aproval"], "did you mean 'approval'?"),
        (["inbox", "--kind", "bogus"], "there are: approval, question"),
        (["run", f"{SHOP}:refnds", "x"], "Did you mean 'refunds'?"),
        (["start", f"{SHOP}:refnds", "x"], "Did you mean 'refunds'?"),
    ],
)
@pytest.mark.usefixtures("waiting")
def test_a_wrong_name_is_answered_with_the_right_one(typed: list[str], said: str, adjourn: Run) -> None:
    done = adjourn(*typed)
    assert done.code == 2 and said.casefold() in done.err.casefold() and done.out == ""


def test_a_run_that_does_not_exist_is_answered_with_those_like_it(adjourn: Run, waiting: str) -> None:
    for verb in ("show", "pause", "cancel", "watch", "requests", "fork"):
        said = adjourn(verb, waiting[:-1] + "_")
        assert said.code == 2 and waiting in said.err, verb


def test_without_utf8_there_are_only_ascii_letters(process: Run, waiting: str) -> None:
    ascii = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    for words in (
        ["run", f"{SHOP}:refunds", "x"],
        ["watch", waiting, "--rest"],
        ["doctor"],
        ["db", "info"],
        ["show", waiting],
    ):
        said = process(*words, **ascii)
        assert said.out.isascii() and said.err.isascii() and "\\u" not in said.out + said.err, words


def test_every_glyph_has_an_ascii_one() -> None:
    folder = Path(shop.__file__).parents[2] / "src/adjourn/cli"
    files = [f for f in folder.glob("*.py") if "demo" not in f.name and f.stem != "confusable_characters"]
    written = {c for f in files for c in f.read_text("utf-8") if ord(c) > 127}
    words = set("«»µϲϳ") | {c for c in written if c.isalpha()}
    assert written - {chr(c) for c in _ASCII} <= words


# What the shell completes


def completed(process: Run, words: str) -> list[str]:
    done = process(
        _ADJOURN_COMPLETE="complete_bash", COMP_WORDS=f"adjourn {words}", COMP_CWORD=str(words.count(" ") + 1)
    )
    return done.out.split()


def test_commands_runs_items_and_programs_are_completed(process: Run, waiting: str) -> None:
    assert completed(process, "che") == ["checkpoint"]
    assert completed(process, "checkpoint ") == ["show", "verify", "resume"]
    assert completed(process, f"show {waiting[:3]}") == [waiting]
    assert completed(process, "watch ") == [waiting]
    assert completed(process, "approve ") == [f"{waiting}:2.0?0"]
    Path("app.py").write_text("agent = Agent('x')\nraise SystemExit('never run')\n")
    assert completed(process, "run a") == ["app.py:"]
    assert completed(process, "run app.py:") == ["app.py:agent"]


def test_completion_says_nothing_if_something_is_wrong(process: Run) -> None:
    assert completed(process, "show ") == []
    Path("adjourn.db").write_text("no database")
    assert completed(process, "show ") == [] and completed(process, "approve ") == []


def test_completion_hands_a_shell_nothing_to_run(process: Run) -> None:
    async def start() -> None:
        from adjourn import Runtime

        async with Runtime("sqlite:///adjourn.db") as rt:
            for id in ("$(touch owned)", "`touch owned`", "a'b", "fine"):  # ids as earlier versions allowed them
                words = "\"$(touch owned)`touch owned`' \x1b[31m"
                await rt.store.create(Started(run=id, kind="agent", program="made", input=words))

    asyncio.run(start())
    done = process(_ADJOURN_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="adjourn show ")
    assert '"fine"' in done.out and not set("$`\x1b") & set(done.out) and "a'b" not in done.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_a_script_for_the_shell_is_printed(shell: str, process: Run) -> None:
    said = process("--show-completion", shell)
    assert said.code == 0 and "adjourn" in said.out


# How little is loaded


def test_the_version_loads_neither_a_terminal_library_nor_other_commands() -> None:
    code = "import sys; from adjourn.cli.command_table import app\ntry:\n    app(['version'])\nfinally:\n    print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    loaded = set(done.stdout.split())
    assert "adjourn.cli.command_table" in loaded
    assert not {"rich.console", "starlette", "uvicorn", "jsonschema"} & loaded
    others = {name for name in loaded if name.startswith("adjourn.cli.")}
    assert others <= {f"adjourn.cli.{name}" for name in ("command_table", "options", "completion", "tenant_option")}
    assert not {name for name in loaded if name.startswith("adjourn.server")}
