"""The pages for operators: every command of ours on them is understood, and every one that ends is run, in the order of the page."""

import asyncio
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli import shop
from tests.cli.conftest import begin, invoke
from tests.deploy.test_containers import understood
from tests.stores.postgres.server import PostgresServer
from typer._click.exceptions import MissingParameter, NoArgsIsHelpError

from adjourn import Runtime

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
PAGES = (
    "deploy-fleet", "deploy-one-machine", "deploy-proxies", "deploy-upkeep", "postgresql", "restate", "temporal",
    "operations", "workers", "retention",
)  # fmt: skip
LASTING = ("worker", "serve", "schedule", "mcp")
"""They do not end by themselves: that they are understood is checked here, what they do elsewhere."""
ON_POSTGRES = ("db restored",)
"""What is for a database whose copies others make."""
NAMED = re.compile(r"`adjourn ([^`]+)`")
BLOCK = re.compile(r"^```(?:sh|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def commands(page: str) -> Iterator[list[str]]:
    """The words of every command of ours on a page, in its order."""
    text = (GUIDES / f"{page}.md").read_text("utf-8")
    blocks = {match.start(): match[1].splitlines() for match in BLOCK.finditer(text)}
    named = {match.start(): [f"adjourn {match[1]}"] for match in NAMED.finditer(text)}
    for _, lines in sorted({**blocks, **named}.items()):
        for line in lines:
            if line.startswith("adjourn "):
                yield shlex.split(line, comments=True)[1:]


def is_whole(words: list[str]) -> bool:
    """Whether it can be typed as it stands; else it is only named. Raises what a command would say that there is not."""
    try:
        understood(words)
    except (MissingParameter, NoArgsIsHelpError, IndexError):
        return False
    return True


@pytest.mark.parametrize("page", PAGES)
def test_every_command_on_a_page_is_understood(page: str) -> None:
    for words in commands(page):
        is_whole([word for word in words if word not in ("…", "...")])


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder with a database that has users and a run that waits; the run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("ADJOURN_DB", raising=False)
    (tmp_path / "backup").mkdir()
    [run] = asyncio.run(begin(shop.refunds))
    key = invoke("user", "add", "ops", "--role", "admin").out.strip()
    monkeypatch.setenv("ADJOURN_KEY", key)
    assert invoke("user", "add", "ana", "--role", "approver").code == 0
    return run


async def status(address: str, run: str) -> str:
    async with Runtime(address) as rt:
        return (await (await rt.get(run)).status()).value


def test_backup_restore_upgrade_and_keys_are_done_as_on_the_page(
    machine: str, tmp_path: Path, postgres: PostgresServer
) -> None:
    done: list[str] = []
    for words in commands("deploy-upkeep"):
        if not is_whole(words):
            continue
        typed = [str(tmp_path) + word if word.startswith("/backup") else word.replace("NAME", "ana") for word in words]
        if " ".join(words) in ON_POSTGRES:
            typed += ["--db", postgres.fresh()]
        said = invoke(*typed)
        assert said.code == 0, (typed, said)
        done.append(" ".join(word for word in words[:2] if "/" not in word and "*" not in word))
        if words[0] == "runs":
            assert machine[:9] in said.out, "what may have gone on since is paused"
    assert done == [
        "db backup", "db restore", "runs --status", "db restored", "halt", "db check", "db upgrade", "db upgrade",
        "user key", "user keys",
    ]  # fmt: skip


def test_a_database_moves_and_its_users_are_copied_as_on_the_page(machine: str, postgres: PostgresServer) -> None:
    moved, others = postgres.empty(), {verb: postgres.fresh() for verb in ("restored", "user add", "user copy")}
    done: list[str] = []
    for words in commands("postgresql"):
        if words[0] in LASTING or words == ["doctor"] or not is_whole(words):
            continue
        place = moved
        if words[:2] == ["db", "restored"]:
            place = others["restored"]
        elif words[0] == "user":
            place = others[" ".join(words[:2])]
        typed = ["adjourn.db-users" if word == "FILE" else re.sub(r"^postgresql://.*", place, word) for word in words]
        if "--db" not in typed and words[1] != "copy":
            typed += ["--db", place]
        said = invoke(*typed)
        assert said.code == 0, (typed, said)
        done.append(words[0] if words[0] == "unhalt" else " ".join(words[:2]))
    assert done == ["db restored", "db restored", "db copy", "unhalt", "user add", "user copy", "db scrub"]
    assert asyncio.run(status(moved, machine)) == asyncio.run(status("sqlite:///adjourn.db", machine))
    assert {user["name"] for user in invoke("user", "list", "--json", "--db", moved).json} == {"ops", "ana"}


def test_the_first_user_of_a_machine_is_made_as_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    [words] = [words for words in commands("deploy-one-machine") if words[:2] == ["user", "add"]]
    said = invoke(*(str(tmp_path / "adjourn.db") if word.startswith("/var/lib") else word for word in words))
    assert said.code == 0 and said.out.startswith("adj_"), said
