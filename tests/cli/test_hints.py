"""What is printed for a person to type works when it is pasted, whatever an id of an earlier version contains."""

import asyncio
import re
import shlex
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import SECONDS, Run, Said

from adjourn import Agent, Policy, RunFailed, Runtime, ask, pause_for, tool
from adjourn.bodies import tool_context as context
from adjourn.cli.command_table import COMMANDS
from adjourn.cli.terminal.hints import command, quoted
from adjourn.runtime import runtime
from adjourn.testing import ScriptedModel, call

ODD = {
    "a separator": "order 1; touch pwned", "a substitution": "$(touch pwned)", "backticks": "`touch pwned`", "quotes": "a'b\"c",
    "an option": "-rf", "a long option": "--db=x", "a background": "a & touch pwned", "a pipe": "a|touch pwned", "a glob": "*",
    "two spaces": "a  b", "a home": "~root", "a variable": "$HOME", "another alphabet": "ünï-日本", "what cannot be seen": "a\u2800b",
    "a disguise": "pаy", "braces": "{a,b}", "an assignment": "PATH=x",
}  # fmt: skip
"""Ids as they could be chosen before there was one alphabet. The one with a disguise has a Cyrillic letter."""
HARDEST = ("a substitution", "quotes", "an option", "two spaces")
DB = "my $(touch pwned) data's.db"
PROGRAM = "my $(touch pwned) app's.py"
HINT = re.compile(rf"(?<![`\w])adjourn (?:{'|'.join(COMMANDS)})\b.*")
LONG = {"run", "worker", "serve", "user", "watch"}
"""Hints for what is not done here: they last, or make something."""


def in_shell(hint: str) -> list[str]:
    """The words that a real shell makes of it, and nothing else happens."""
    bash = shutil.which("bash")
    assert bash is not None
    script = f"adjourn() {{ printf '%s\\0' \"$@\"; }}\n{hint}\n"
    done = subprocess.run([bash, "--norc", "-c", script], capture_output=True, timeout=SECONDS, check=False)
    assert done.returncode == 0 and done.stderr == b"", (hint, done.stderr)
    assert not Path("pwned").exists(), hint
    return done.stdout.decode().split("\0")[:-1]


def any_id(id: Any, name: str) -> Any:
    return id


@tool
def wipe(path: str) -> str:
    """Delete a folder."""
    return path


def programs(odd: str) -> dict[str, Agent[Any]]:
    """An agent for every way to rest; their names are as odd as an agent's may be, and so are the ids they give."""

    @tool(effect="read")
    def enquire() -> None:
        """Ask."""
        pause_for("question", {"question": "sure?"}, interrupt_id=odd)

    name = "".join(c for c in odd if c not in ":/\n")
    every = Policy([ask("wipe")], default="ask")
    return {
        "waiting": Agent(
            f"w {name}", model=ScriptedModel([call("wipe", path="/")], "Done."), tools=[wipe], policy=every
        ),
        "long": Agent(
            f"l {name}", model=ScriptedModel([call("wipe", path="x" * 999)], "."), tools=[wipe], policy=every
        ),
        "asking": Agent(f"a {name}", model=ScriptedModel([call("enquire")], "Done."), tools=[enquire]),
        "again": Agent(f"g {name}", model=ScriptedModel([call("enquire")], "Done."), tools=[enquire]),
        "failed": Agent(f"f {name}", model=ScriptedModel(ValueError("no"), "Done.")),
        "paused": Agent(f"p {name}", model=ScriptedModel([call("enquire")], "Done."), tools=[enquire]),
        "done": Agent(f"d {name}", model=ScriptedModel("Done.")),
    }


async def fill(odd: str) -> dict[str, str]:
    """A database with a run that rests in every way; their ids."""
    agents = programs(odd)
    ids = {way: f"{odd}{n}" for n, way in enumerate(agents)}
    async with Runtime(f"sqlite:///{DB}", agents.values()) as rt:
        for way, agent in agents.items():
            run = await rt.start(agent, "go", run_id=ids[way], by="shop")
            try:
                await run.wait(SECONDS)
            except RunFailed:
                pass
            if way == "paused":
                await run.pause(by="shop")
        await rt.halt(f"tool:{odd}", reason="x", by="shop")
    async with Runtime(f"sqlite:///{DB}", [agents["done"]], work=False) as rt:
        ids["ready"] = f"{odd}r"
        await rt.start(agents["done"], "go", run_id=ids["ready"])
    return ids


def everything_printed(adjourn: Run, ids: dict[str, str]) -> list[Said]:
    """What every command says about these runs."""
    pages = (["runs", "--limit", "1", "--search", "go"], ["audit", "--limit", "1", "--text", "go"], ["audit", "export"])
    said = [adjourn(*words, "--db", DB) for words in (["runs"], ["inbox"], ["doctor"], ["audit"], *pages)]
    for way, id in ids.items():
        watched = [["watch", "--rest"]] if way != "ready" else []
        verbs = [["show"], ["inbox"], ["audit"], ["audit", "--limit", "1"], *watched, ["approve"]]
        said += [adjourn(*words, "--db", DB, "--", id) for words in verbs]
        said += [adjourn("resume", "--db", DB, "--", f"{id}x"), adjourn("fork", "--at", "999", "--db", DB, "--", id)]
    Path("saved; touch pwned.json").write_text(adjourn("show", "--checkpoint", "--db", DB, "--", ids["long"]).out)
    said.append(adjourn("checkpoint", "show", "saved; touch pwned.json"))
    said += [adjourn(verb, "--db", DB, "--", ids["done"]) for verb in ("pause", "resume", "cancel")]
    said += [adjourn("deny", "--db", DB, "--", f"{ids['waiting']}:2.0?0") for _ in range(2)]
    said.append(adjourn("pause", "--db", DB, "--", ids["failed"]))
    said.append(adjourn("cancel", "--dry-run", "--db", DB, "--", ids["long"]))
    said.append(adjourn("cancel", "--db", DB, "--", ids["long"][:-1]))
    Path(PROGRAM).write_text("from adjourn import Agent\nagent = Agent('made', model='test')\n")
    said.append(adjourn("start", f"{PROGRAM}:agent", "go", "--db", DB))
    said.append(adjourn("show", "--web", "--db", DB, "--", ids["done"]))
    return said


def of_later_commands(adjourn: Run, ids: dict[str, str]) -> list[Said]:
    """What the commands say that look back, and that do the same to many."""
    lists = (["workers"], ["policies"], ["numbers"], ["bulk", "resume", "--status", "failed", "--dry-run"])
    said = [adjourn(*words, "--db", DB) for words in lists]
    said += [adjourn(*words, "--db", DB, "--", ids["asking"]) for words in (["standing"], ["requests"], ["revoke"])]
    said.append(adjourn("compare", "--db", DB, "--", ids["done"], ids["asking"]))
    said.append(adjourn("again", "--db", DB, "--", ids["done"]))
    item = ["--db", DB, "--", ids["again"]]
    said += [adjourn(verb, *item, *more) for verb, *more in (["assign", "ben"], ["snooze", "2h"], ["comment", "hm"])]
    said += [adjourn(verb, "--db", DB, "--", ids["waiting"]) for verb in ("retry", "dismiss", "standing")]
    return said


@pytest.fixture
def earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that lets people choose any id."""
    monkeypatch.setattr(runtime, "check_chosen", any_id)
    monkeypatch.setattr(context, "check_chosen", any_id)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.usefixtures("earlier")
def test_every_hint_of_every_command_can_be_pasted(name: str, adjourn: Run) -> None:
    ids = asyncio.run(fill(ODD[name]))
    every = everything_printed(adjourn, ids)
    if name in HARDEST:
        every += of_later_commands(adjourn, ids)
    printed = "\n".join(said.out + said.err for said in every)
    hints = sorted({found[0] for line in printed.splitlines() if (found := HINT.search(line))})
    verbs = {hint.split()[1] for hint in hints}
    assert {
        "approve",
        "deny",
        "answer",
        "inbox",
        "show",
        "resume",
        "watch",
        "runs",
        "worker",
        "unhalt",
        "checkpoint",
        "audit",
        "serve",
    } <= verbs
    with closing(sqlite3.connect(DB)) as db, db:
        refs = {f"{run}:{i}" for run, i in db.execute("select r.id, x.i from interrupt x join run r on r.n = x.run")}
    for hint in hints:
        words = in_shell(hint)
        if "$'" not in hint:
            assert shlex.split(hint)[1:] == words, "any shell understands it"
        assert_it_works(adjourn, words, refs | set(ids.values()), hint)


def assert_it_works(adjourn: Run, words: list[str], known: set[str], hint: str) -> None:
    """It is understood, it finds what it names, and it looks where the runs are."""
    if words[0] in LONG or words[:2] == ["checkpoint", "resume"]:
        return
    if words[0] not in ("version", "doctor"):
        assert words[words.index("--db") + 1] == DB, hint
    shutil.copy(DB, "copy.db")
    said = adjourn(*("copy.db" if word == DB else word for word in words))
    assert "Usage:" not in said.err and "No such" not in said.err, (hint, said.err)
    assert not re.search("unknown_run|unknown_interrupt|not_found|invalid ", said.err), (hint, said.err)
    named = [word for word in words[1:] if word in known]
    assert named or words[0] in ("runs", "inbox", "unhalt", "audit"), hint


@pytest.mark.usefixtures("earlier")
def test_two_of_one_given_id_are_told_apart_in_every_list_and_hint(adjourn: Run) -> None:
    agents = programs("confirm")
    both = [agents["asking"], agents["again"]]

    async def start() -> None:
        async with Runtime("sqlite:///adjourn.db", both) as rt:
            for id, agent in zip(("one", "two"), both, strict=True):
                await (await rt.start(agent, "go", run_id=id)).wait(SECONDS)

    asyncio.run(start())
    listed = adjourn("inbox")
    assert "one:confirm" in listed.out and "two:confirm" in listed.out
    assert [i["ref"] for i in adjourn("inbox", "--json").json] == ["one:confirm", "two:confirm"]
    assert (
        adjourn("answer", "confirm", "yes").code == 2
        and "'one:confirm', 'two:confirm'" in adjourn("inbox", "confirm").err
    )
    for number, run in (("1", "one"), ("2", "two")):
        shown = adjourn("inbox", number)
        [hint] = [line.split("Answer   ")[1] for line in shown.err.splitlines() if line.startswith("Answer")]
        assert shlex.split(hint)[:4] == ["adjourn", "answer", f"{run}:confirm", "VALUE"]
    assert adjourn("answer", "2", "yes", "--by", "ana", "--json").json["ref"] == "two:confirm"
    [left] = adjourn("inbox", "--json").json
    assert left["ref"] == "one:confirm"
    assert adjourn("answer", *shlex.split("one:confirm no"), "--by", "ben", "--json").json["run_id"] == "one"


@given(st.text(st.characters(exclude_characters="\x00", exclude_categories=("Cs",)), min_size=1))
def test_a_quoted_word_shows_everything(text: str) -> None:
    assert quoted(text).isprintable() and "\n" not in quoted(text)


def test_any_text_is_one_word_of_a_shell() -> None:
    texts = [
        *ODD.values(),
        "a\nb",
        "a\\b",
        "a\\'b",
        "\x1b[31m",
        "\u202eabc",
        "''",
        "!x",
        "a\tb",
        "=ls",
        "\\",
        "é\u0301" * 5,
    ]
    words = in_shell(" ".join(["adjourn", *map(quoted, texts)]))
    assert words == texts


def test_what_looks_like_an_option_comes_last_behind_two_dashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADJOURN_DB", raising=False)
    assert command(None, "show", "-rf") == "adjourn show -- -rf"
    assert (
        command("x.db", "resume", "-rf", options=("--instruction", "…"))
        == "adjourn resume --instruction … --db x.db -- -rf"
    )
    assert command("adjourn.db", "show", "a b") == "adjourn show 'a b'"
