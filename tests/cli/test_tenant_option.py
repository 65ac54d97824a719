"""`--tenant`: a command works for one tenant, or says that it cannot. The law is about every command that has a database."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any, cast

import apsw
import pytest
from tests.cli import shop
from tests.cli.conftest import Run, begin, invoke
from tests.cli.test_commands import JSON, LEAVES, SHOP, refused
from tests.server.place import IN_FILE, rows

from adjourn import Agent, Runtime
from adjourn.cli.tenant_option import FOR_TENANTS
from adjourn.testing import ScriptedModel

NEEDS: dict[str, list[str]] = {
    "db prune": ["--older", "0m"], "bulk": ["pause", "--status", "waiting", "--yes"], "again": ["RUN", f"{SHOP}:refunds"],
    "hold": ["ENDED", "--reason", "y"], "schedule": [f"{SHOP}:make", "x", "--every", "1h", "--next", "2"],
    "compare": ["RUN", "ASK"],
}  # fmt: skip
"""How a command is called that could reach the runs of others; the rest as for its data."""
MADE = ("start", "schedule")
"""They name no run of others."""


async def started(*agents: Agent[Any], **labels: str) -> list[str]:
    async with Runtime("sqlite:///adjourn.db", agents) as rt:
        runs = [await rt.start(agent, "Order 4417 arrived broken", by="shop", labels=labels) for agent in agents]
        for run in runs:
            await asyncio.wait([asyncio.ensure_future(run.wait(60))])
    return [run.id for run in runs]


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str], list[str]]:
    """A folder with runs of two tenants and of none; the ids of those of globex by name, and of those that are not acme's."""
    folder = tmp_path_factory.mktemp("tenants")
    clerk = Agent("clerk", model=ScriptedModel("done"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.delenv("ADJOURN_DB", raising=False)
        programs = (shop.refunds, shop.asker, shop.refunds, shop.failing, shop.refunds, clerk)
        others = asyncio.run(started(*programs, tenant="globex"))
        loose = asyncio.run(begin(shop.refunds))
        asyncio.run(started(shop.refunds, clerk, tenant="acme"))
        assert invoke("pause", others[2]).code == 0 and invoke("inbox").code == 0
        stood = json.loads(invoke("approve", others[4], "--stands", "--json").out)["ref"]
    names = dict(zip(("RUN", "ASK", "PAUSED", "FAILED", "STOOD RUN", "ENDED"), others, strict=True))
    return folder, {**names, "STOOD": stood}, [*others, *loose]


@pytest.fixture
def world(furnished: tuple[Path, dict[str, str], list[str]]) -> tuple[dict[str, str], list[str]]:
    folder, names, others = furnished
    shutil.copytree(folder, ".", dirs_exist_ok=True)
    return names, others


def kept() -> dict[str, list[Any]]:
    return rows(apsw.Connection("adjourn.db", flags=apsw.SQLITE_OPEN_READONLY), IN_FILE)


def of(found: dict[str, list[Any]], others: list[str]) -> list[str]:
    """What is kept of these runs: their rows, the rows that have their numbers, and their audit."""
    numbers = {row[0] for row in found["run"] if set(row) & set(others)}
    known = ("journal", "interrupt", "label")
    about = [
        repr(row) for name in known for row in found[name] if (row[0] >> 32 if name == "journal" else row[0]) in numbers
    ]
    return about + [
        repr(row) for name in ("run", "audit") for row in found[name] if any(x in repr(row) for x in others)
    ]


def test_every_command_that_has_a_database_takes_the_option_or_refuses_it() -> None:
    with_db = {name for name, one in LEAVES.items() if any(p.name == "db" for p in one.params)}
    assert with_db >= FOR_TENANTS
    for name in with_db:
        assert any("--tenant" in p.opts for p in LEAVES[name].params), name


@pytest.mark.parametrize("name", sorted(FOR_TENANTS))
def test_a_command_for_a_tenant_shows_and_changes_nothing_of_others(
    name: str, adjourn: Run, world: tuple[dict[str, str], list[str]]
) -> None:
    names, others = world
    before = of(kept(), others)
    words = NEEDS.get(name, JSON.get(name, []))
    said = adjourn(*name.split(), *(names.get(word, word) for word in words), "--tenant", "acme", "--json")
    typed = {names[word] for word in words if word in names}
    for run in others:
        assert run not in said.out, name
        assert run not in said.err or run in typed or names.get("STOOD", "").startswith(run), (name, said.err)
    assert of(kept(), others) == before, name
    if typed:
        assert said.code == 2 and "not found" in said.err, (name, said)
    else:
        assert said.code == 0, said.err


@pytest.fixture(scope="module")
def owned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder in which every run is acme's, with something for every command; the ids by name."""
    folder = tmp_path_factory.mktemp("owned")
    clerk = Agent("clerk", model=ScriptedModel("done"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.delenv("ADJOURN_DB", raising=False)
        programs = (shop.refunds, shop.asker, shop.refunds, shop.failing, shop.refunds, clerk)
        own = asyncio.run(started(*programs, tenant="acme"))
        assert invoke("pause", own[2]).code == 0 and invoke("inbox").code == 0
        asyncio.run(refused(own[1]))
        stood = json.loads(invoke("approve", own[4], "--stands", "--json").out)["ref"]
    names = dict(zip(("RUN", "ASK", "PAUSED", "FAILED", "STOOD RUN", "ENDED"), own, strict=True))
    return folder, {**names, "STOOD": stood}


def shape(value: Any) -> Any:
    """What there is in some JSON, without what it says."""
    if isinstance(value, dict):
        return {key: shape(inside) for key, inside in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [shape(inside) for inside in cast("list[Any]", value)]
    return type(value).__name__


def data(text: str) -> Any:
    """Some JSON, or a value a line."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("name", sorted(FOR_TENANTS))
def test_a_command_for_a_tenant_works_with_its_own_runs_as_without_a_tenant(
    name: str, adjourn: Run, owned: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, names = owned
    words = [names.get(word, word) for word in NEEDS.get(name, JSON.get(name, []))]
    if name == "cancel":
        words.append("--yes")
    told: list[tuple[int, Any]] = []
    for for_whom in ([], ["--tenant", "acme"]):
        place = tmp_path / f"for{len(for_whom)}"
        shutil.copytree(folder, place)
        monkeypatch.chdir(place)
        monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
        for form in ([], ["--json"]):  # people are shown what a cancel does, and what a fork would
            shutil.copyfile(folder / "adjourn.db", place / "adjourn.db")
            assert adjourn("inbox", *for_whom).code == 0  # what was shown may be decided
            said = adjourn(*name.split(), *words, *for_whom, *form)
            assert said.code in (0, 3), (for_whom, form, said.err)
            told.append((said.code, shape(data(said.out)) if form else None))
    assert told[:2] == told[2:]


@pytest.mark.parametrize("name", sorted(name for name in JSON if name not in FOR_TENANTS))
def test_a_command_about_all_tenants_refuses_and_changes_nothing(
    name: str, adjourn: Run, world: tuple[dict[str, str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    if all(p.name != "db" for p in LEAVES[name].params):
        return  # it is about no database
    before, files = kept(), sorted(Path().iterdir())
    monkeypatch.setenv("ADJOURN_TENANT", "acme")
    said = adjourn(*name.split(), *(world[0].get(word, word) for word in JSON[name]))
    assert said.code == 1 and "of all tenants" in said.err and "ADJOURN_TENANT unset" in said.err, said
    assert kept() == before and sorted(Path().iterdir()) == files


def test_lists_numbers_and_the_audit_are_those_of_the_tenant(
    adjourn: Run, world: tuple[dict[str, str], list[str]]
) -> None:
    own = adjourn("runs", "--tenant", "acme", "--json").json
    assert {run["labels"]["tenant"] for run in own} == {"acme"} and len(own) == 2
    assert len(adjourn("runs", "--tenant", "acme", "--label", "tenant=acme", "--json").json) == 2
    none = adjourn("runs", "--tenant", "acme", "--label", "tenant=globex", "--json")
    assert none.code == 2 and "label 'tenant=globex' not found" in none.err
    assert len(adjourn("runs", "--tenant", "acme", "--search", "broken", "--json").json) == 2
    assert [item["run_id"] for item in adjourn("inbox", "--tenant", "acme", "--json").json] == [own[1]["run_id"]]
    assert adjourn("numbers", "--tenant", "acme", "--json").json["total"]["runs"] == 2
    assert adjourn("numbers", "--json").json["total"]["runs"] == 9
    lines = adjourn("audit", "show", "--tenant", "acme", "--json").json
    assert {line["run_id"] for line in lines} == {run["run_id"] for run in own}


def test_what_is_started_for_a_tenant_has_its_label_and_no_other(
    adjourn: Run, world: tuple[dict[str, str], list[str]]
) -> None:
    begun = adjourn("start", f"{SHOP}:make", "x", "--tenant", "acme", "--json").json["run_id"]
    assert adjourn("show", begun, "--tenant", "acme", "--json").json["labels"] == {"tenant": "acme"}
    wrong = adjourn("start", f"{SHOP}:make", "x", "--tenant", "acme", "--label", "tenant=globex")
    assert wrong.code == 1 and "a tenant other than" in wrong.err
    taken = adjourn("start", f"{SHOP}:make", "x", "--tenant", "acme", "--id", world[0]["RUN"])
    assert taken.code == 1 and "already exists" in taken.err
    continued = adjourn("start", f"{SHOP}:make", "x", "--tenant", "acme", "--after", world[0]["ENDED"])
    assert continued.code == 2 and "not found" in continued.err


def test_a_start_that_is_only_tried_is_refused_for_the_tenant_as_one_that_is_not(
    adjourn: Run, world: tuple[dict[str, str], list[str]]
) -> None:
    own = adjourn("start", f"{SHOP}:make", "x", "--tenant", "globex", "--session", "chat", "--json").json["run_id"]
    for words in (
        ["--id", world[0]["RUN"]], ["--id", own], ["--label", "tenant=globex"], ["--session", "chat"], ["--after", world[0]["ENDED"]],
    ):  # fmt: skip
        said = [
            adjourn("start", f"{SHOP}:make", "x", "--tenant", "acme", *words, *only) for only in ([], ["--dry-run"])
        ]
        assert said[0].code in (1, 2) and said[0] == said[1]
    assert "is taken" in adjourn("start", f"{SHOP}:make", "x", "--tenant", "acme", "--id", own, "--dry-run").err
    assert adjourn("start", f"{SHOP}:make", "x", "--tenant", "acme", "--id", "new", "--dry-run").code == 0


def test_a_tenant_erases_prunes_and_holds_its_own(adjourn: Run, world: tuple[dict[str, str], list[str]]) -> None:
    own = adjourn("runs", "--tenant", "acme", "--status", "completed", "--json").json[0]["run_id"]
    assert [one["scope"] for one in adjourn("hold", own, "--reason", "x", "--tenant", "acme", "--json").json] == [
        f"run:{own}"
    ]
    assert adjourn("hold", "--tenant", "globex", "--json").json == []
    label = adjourn("hold", "--label", "team=eu", "--reason", "x", "--tenant", "acme")
    assert label.code == 1 and "all tenants" in label.err
    assert adjourn("hold", own, "--lift", "--tenant", "acme").code == 0
    before = of(kept(), world[1])
    done = adjourn("db", "prune", "--older", "0m", "--tenant", "globex", "--dry-run", "--json").json
    assert done["runs"] == 1
    assert adjourn("erase", own, "--reason", "y", "--yes", "--tenant", "acme").code == 0
    assert of(kept(), world[1]) == before


def test_a_command_that_is_printed_is_for_the_same_tenant(
    adjourn: Run, world: tuple[dict[str, str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "adjourn inbox --tenant acme" in adjourn("runs", "--tenant", "acme").err
    monkeypatch.setenv("ADJOURN_TENANT", "acme")
    assert "adjourn inbox" in (said := adjourn("runs").err) and "--tenant" not in said


def test_a_key_of_a_tenant_s_person_counts_for_that_tenant_only(
    adjourn: Run, world: tuple[dict[str, str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    key = adjourn("user", "add", "ana", "--role", "approver", "--tenant", "acme").out.strip()
    monkeypatch.setenv("ADJOURN_KEY", key)
    [item] = adjourn("inbox", "--tenant", "acme", "--json").json
    refused = adjourn("approve", item["ref"])
    assert refused.code == 1 and "works for the tenant 'acme'" in refused.err and "Add --tenant acme" in refused.err
    assert adjourn("approve", item["ref"], "--tenant", "globex").code == 1
    assert adjourn("approve", item["ref"], "--tenant", "acme").code == 0


def test_a_name_that_is_none_is_refused(adjourn: Run, world: tuple[dict[str, str], list[str]]) -> None:
    said = adjourn("runs", "--tenant", " acme ")
    assert said.code == 2 and "a tenant's name must be" in said.err
