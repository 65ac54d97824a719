"""One run, seen from everywhere: HTTP, the command line, Python, the stream of changes and webhooks say the same, field by field."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.server.world import LIMIT, Client, at, eventually
from typer.testing import CliRunner

from adjourn import Agent, Policy, Run, Runtime, ask, tool
from adjourn.cli.command_table import app
from adjourn.core.codec import decode, encode
from adjourn.server import serving
from adjourn.stores.outbox import Endpoint
from adjourn.testing.scripted import ScriptedModel, call
from adjourn.views.interrupt_view import InterruptSummary
from adjourn.views.run_view import RunGlance, RunSummary, RunView

TIMES = ("now", "worked", "waited")
"""What differs because time goes by between two looks."""
EXTRA = {"reason", "residue_count", "scope", "by", "status"}
"""What a notification says beside the fields of an interrupt."""


@tool
async def refund(order: str, cents: int) -> dict[str, int]:
    """Pay money back."""
    return {"refunded": cents}


@tool(effect="read")
async def look_up(order: str) -> str:
    """Look an order up."""
    return f"order {order}"


def refunds() -> Agent:
    policy = Policy([ask("refund", reason="money leaves", groups=("finance",), expires_in=3600)], default="allow")
    replies = ["I look.", call("look_up", order="A1")], ["I pay.", call("refund", order="A1", cents=500)], "All paid."
    return Agent("refunds", model=ScriptedModel(*replies), tools=[look_up, refund], policy=policy)


class Surfaces:
    """Everything through which one run can be seen."""

    def __init__(self, folder: Path, runtime: Runtime, client: Client, run: Run[Any]) -> None:
        self._folder, self.rt, self.http, self.run = folder, runtime, client, run

    async def get(self, path: str, **params: str) -> Any:
        """What HTTP answers."""
        answer = await self.http.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def cli(self, *words: str) -> Any:
        """What the command line prints."""
        given = [*words, "--json", "--db", str(self._folder / "runs.db")]
        done = await asyncio.to_thread(lambda: CliRunner().invoke(app, given))
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    async def fed(self) -> dict[str, Any]:
        """The run as the stream of changes tells of it, after something was said to it."""
        async with self.http.events("inbox/events") as events:
            await events.until(lambda event: event.kind == "inbox")
            await self.run.say("thank you", by="ana")
            told = (await events.until(lambda event: event.kind == "changed"))[-1]
        [found] = [one for one in told.data["runs"] if one["run_id"] == self.run.id]
        return found


def plain(value: Any) -> Any:
    """What Python gives, as JSON."""
    return decode(encode(value))


def only(found: dict[str, Any], struct: Any) -> dict[str, Any]:
    """The fields of a struct, all of which must be there."""
    return {name: found[name] for name in struct.__struct_fields__}


@pytest.fixture
async def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Surfaces]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    address = f"sqlite:///{tmp_path / 'runs.db'}"
    async with Runtime(address, [refunds()]) as rt, serving(rt, port=0, name="ana", token=True, rate=1e6) as up:
        await rt.store.endpoints(Endpoint("hook", "webhook", "https://example.com/", "whsec_x", ()), by="ana")
        run = await rt.start(rt.programs["refunds"], "order A1", run_id="order-A1", labels={"team": "eu"}, by="shop")
        await run.wait(LIMIT)
        async with Client(up, up.token) as client:
            yield Surfaces(tmp_path, rt, client, run)


async def waits(seen: Surfaces) -> str:
    """It waits for an approval."""
    return "waiting"


async def is_denied(seen: Surfaces) -> str:
    """It was denied, and has ended."""
    [item] = await seen.rt.inbox()
    await seen.rt.deny(item, by="ana", note="not today")
    await seen.run.wait(LIMIT)
    return "completed"


async def is_held(seen: Surfaces) -> str:
    """It was approved, and then its tool was halted."""
    [item] = await seen.rt.inbox()
    await seen.run.pause(by="ana")
    await seen.rt.approve(item, by="ben", groups=("finance",))
    await seen.rt.halt("tool:refund", reason="incident 7", by="ana")
    await seen.run.resume(by="ana")
    await eventually(lambda: has_status(seen, "held"))
    return "held"


async def has_status(seen: Surfaces, status: str) -> bool:
    return await seen.run.status() == status


async def has_failed_to_be_approved(seen: Surfaces) -> str:
    """Somebody of another group wanted to approve it."""
    [item] = (await seen.get("inbox"))["items"]
    assert (await seen.http.decide(item, "approve", note="fine")).status_code == 403
    return "waiting"


async def is_paused(seen: Surfaces) -> str:
    """A person paused it."""
    await seen.run.pause(by="ana", reason="lunch")
    return "paused"


async def is_cancelled(seen: Surfaces) -> str:
    """A person cancelled it."""
    await seen.run.cancel(by="ana", reason="wrong order")
    await seen.run.wait(LIMIT)
    return "cancelled"


MOMENTS: list[Callable[[Surfaces], Awaitable[str]]] = [
    waits,
    is_denied,
    is_held,
    has_failed_to_be_approved,
    is_paused,
    is_cancelled,
]


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.__name__)
async def test_a_run_is_the_same_everywhere(seen: Surfaces, moment: Callable[[Surfaces], Awaitable[str]]) -> None:
    status = await moment(seen)
    run = seen.run.id
    view = await seen.get(f"runs/{run}")
    assert view["status"] == status == await seen.run.status()
    assert view == plain(await seen.run.state()) == only(await seen.cli("show", run), RunView)
    assert [view] == await seen.cli("runs")
    summary = only(view, RunSummary)
    assert summary == await seen.get(f"runs/{run}/status")
    assert [summary] == (await seen.get("runs"))["items"] == plain(await seen.rt.runs())
    [glance] = (await seen.get("glances", runs=run))["items"]
    assert glance.keys() == set(RunGlance.__struct_fields__)
    assert {name: glance[name] for name in glance if name != "spans"} == {
        name: view[name] for name in glance if name != "spans"
    }
    assert (await seen.get("audit"))["items"] == await seen.cli("audit") == plain(await seen.rt.audit())
    lines = (await seen.get(f"runs/{run}/audit"))["items"]
    assert lines == (await seen.cli("audit", run))[::-1] == plain(await seen.run.audit())


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.__name__)
async def test_its_steps_are_the_same_everywhere(seen: Surfaces, moment: Callable[[Surfaces], Awaitable[str]]) -> None:
    await moment(seen)
    here, there = await seen.get(f"runs/{seen.run.id}/timeline"), (await seen.cli("show", seen.run.id))["timeline"]
    assert {name: here[name] for name in here if name not in TIMES} == {
        name: there[name] for name in there if name not in TIMES
    }
    assert here.keys() == there.keys()
    assert [step["number"] for step in here["steps"]] == [*range(len(here["steps"]))]


@pytest.mark.parametrize("moment", [waits, has_failed_to_be_approved], ids=lambda moment: moment.__name__)
async def test_what_it_waits_for_is_the_same_everywhere(
    seen: Surfaces, moment: Callable[[Surfaces], Awaitable[str]]
) -> None:
    await moment(seen)
    [item] = (await seen.get("inbox"))["items"]
    assert [item] == (await seen.get(f"runs/{seen.run.id}"))["interrupts"]
    assert item.keys() == set(InterruptSummary.__struct_fields__)
    whole = await seen.get(f"interrupts/{at(item['ref'])}")
    assert only(whole, InterruptSummary) == item
    assert whole == await seen.cli("inbox", item["ref"])
    [listed] = await seen.cli("inbox")
    assert listed.pop("number") == 1 and listed == whole
    assert (whole["status"], whole["run_status"], whole["said"]) == ("open", "waiting", "I pay.")


async def test_a_cancel_is_previewed_the_same_everywhere(seen: Surfaces) -> None:
    preview = await seen.get(f"runs/{seen.run.id}/cancel-preview")
    assert preview == plain(await seen.run.cancel_preview())
    repeated = await seen.get(f"runs/{seen.run.id}/again-preview")
    assert repeated == plain(await seen.run.again_preview())


async def test_the_stream_of_changes_tells_of_it_as_lists_do(seen: Surfaces) -> None:
    told = await seen.fed()
    assert told.keys() == set(RunSummary.__struct_fields__)
    [now] = (await seen.get("runs"))["items"]
    steady = ("run_id", "agent", "kind", "title", "session", "labels", "created_at", "erased_at")
    assert {name: told[name] for name in steady} == {name: now[name] for name in steady}


async def test_a_webhook_says_part_of_it_with_the_same_names(seen: Surfaces) -> None:
    [item] = (await seen.get("inbox"))["items"]
    await is_cancelled(seen)
    opened, *_, ended = [decode(letter.body)["data"] for letter in await seen.rt.store.letters()]
    same = opened.keys() - EXTRA
    assert same < set(InterruptSummary.__struct_fields__)
    assert {name: opened[name] for name in same} == {name: item[name] for name in same}
    assert opened["reason"] == item["call"]["reason"]
    row = await seen.get(f"runs/{seen.run.id}/status")
    assert ended == {name: row[name] for name in ("run_id", "agent", "status")} | {"residue_count": 0}
