"""Many failures that are like one another: how many there are, whether all are meant, and what came
of each."""

from dataclasses import dataclass
from typing import Any

from rich.text import Text

from adjourn.cli.decision_result import VERB_WORDS
from adjourn.cli.error_report import error_json
from adjourn.cli.interrupt_lookup import find, find_decidable, full_digest
from adjourn.cli.opened_database import address_of
from adjourn.cli.person import Person
from adjourn.cli.terminal.console import err, give, out, print_json, remark, say
from adjourn.cli.terminal.format import brief
from adjourn.cli.terminal.interrupt import list_line, title
from adjourn.cli.terminal.prompt import agreed
from adjourn.core.interrupt import Interrupt
from adjourn.runtime.joint_decisions import Retried
from adjourn.runtime.runtime import Runtime
from adjourn.views.visible import visible


@dataclass(frozen=True, slots=True)
class Alike:
    """An error, how many open ones are like it, and when that was so."""

    like: Interrupt
    count: int
    until: float

    def is_meant(self) -> bool:
        """Say what would be tried again, and ask whether that is meant."""
        say(f"  {brief(visible(title(self.like)))}")
        if _effect(self.like) == "unsafe":
            say(
                Text(
                    "  The step is unsafe: each one runs again from its beginning.",
                    style="yellow",
                )
            )
        return agreed(f"Retry {self.count} like this?")

    def print_wanted(self, everything: bool, as_json: bool) -> None:
        """Say what a retry would try again; nothing is changed.

        Args:
            everything: also those that are like it.
            as_json: as data.
        """
        number = self.count if everything else 1
        if give(as_json, {"ref": self.like.ref, "count": number, "dry_run": True}):
            return
        out().print(f"Would retry {number}: {brief(visible(title(self.like)))}")
        remark("Nothing was retried.")

    async def retry(self, rt: Runtime, by: Person, note: str, request_id: str) -> list[Retried]:
        """Try all of them again that were counted."""
        like = self.like
        return await rt.retry_all(
            like.ref,
            by=by.name,
            note=note,
            digest=like.digest,
            until=self.until,
            groups=by.groups,
            request_id=request_id,
        )


def _effect(like: Interrupt) -> str:
    payload: Any = like.payload
    if isinstance(payload, dict):
        return str(payload.get("effect", ""))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    return ""


async def look_alike(
    rt: Runtime, db: str | None, item: str, digest: str, *, decides: bool = False
) -> Alike:
    """What `item` is, and how many are like it now.

    Raises what `find` raises, `StaleDecision`, and what `find_decidable` raises if something is to
    be decided about it.
    """
    address = address_of(db)
    if decides:
        like = (await find_decidable(rt, address, item, digest)).interrupt
    else:
        like = (await find(rt, address, item)).interrupt
    full_digest(like, digest)
    until = rt.store.now()
    return Alike(like, len(await rt.alike(like, until=until)), until)


def report_retried(done: list[Retried], by: str, like: Interrupt, as_json: bool) -> int:
    """Say what came of each; the code to exit with: 1 if one was refused."""
    recorded = sum(not one.refused for one in done)
    if recorded and not as_json:
        what = brief(visible(title(like)))
        out().print(Text.assemble(("✓ ", "green"), f"Retried {recorded} by {visible(by)}: {what}"))
    return _report_refused(done, as_json)


def report_decided(done: list[Retried], verb: str, by: str, as_json: bool) -> int:
    """Say what came of each of several items that were decided together; the code to exit with: 1
    if one was refused."""
    for one in done:
        if not one.refused and not as_json:
            said = f"{VERB_WORDS[verb].done} by {visible(by)}: {list_line(one.interrupt).text}"
            out().print(Text.assemble(("✓ ", "green"), said))
    return _report_refused(done, as_json)


def _report_refused(done: list[Retried], as_json: bool) -> int:
    """Say which were refused, or as JSON what came of each; the code to exit with."""
    refused = [one for one in done if one.refused]
    if as_json:
        print_json([_as_json(one) for one in done])
        return 1 if refused else 0
    for one in refused:
        said = f"{visible(one.interrupt.ref)}: {visible(str(one.refused))}"
        err().print(Text.assemble(("✗ ", "red"), said))
    return 1 if refused else 0


def _as_json(one: Retried) -> dict[str, Any]:
    problem = error_json(one.refused) if one.refused else None
    return {
        "ref": one.interrupt.ref,
        "run_id": one.interrupt.run_id,
        "seq": one.seq or None,
        "refused": problem,
    }
