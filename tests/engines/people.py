"""The people of the long campaign: what they said and were told that it counts, and whether they were asked for a reason."""

from typing import Any

from tests.engines.fleet import Fleet

from adjourn import Run
from adjourn.core.ids import WorkerId
from adjourn.core.records import Asked, Claimed, Decided, Intended, PauseAsked, Resumed, Suspended
from adjourn.errors import Conflict

QUESTIONS = {"counts": 0, "naps": 0, "refunds": 1, "boss": 1, "orders": 1}
"""What a run of each program asks people, beside what is in doubt."""


class People:
    """Whoever is asked agrees, once."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.answered: dict[str, tuple[str, str]] = {}
        """Interrupts whose answer was acknowledged: of which run, and its name there."""
        self.paused: set[str] = set()
        self.disturbed: set[int] = set()
        """The workers that were killed, or frozen for longer than their lease."""
        self.doubts = 0

    async def answer(self) -> None:
        """All that is open."""
        desk = self._fleet.desk
        for item in await desk.inbox(limit=1000):
            assert item.id not in self.answered, f"an acknowledged answer is lost: {item.id} is asked again"
            self.doubts += item.kind == "in_doubt"
            try:
                if item.kind == "in_doubt":
                    happened = any(line.startswith(f"refund {item.run_id} ") for line in self._fleet.ledger.lines())
                    choice: dict[str, Any] = {"choice": "happened", "result": "paid"} if happened else {"choice": "run"}
                    await desk.answer(item.id, choice, by="ann")
                elif item.kind == "approval":
                    await desk.approve(item.id, by="ann")
                else:
                    await desk.answer(item.id, "by air", by="ann")
            except Conflict:
                continue
            self.answered[item.id] = (item.run_id, item.local)

    async def pause(self, run: Run[Any]) -> None:
        """It stands still until somebody resumes it, if it has not ended."""
        try:
            await run.pause(by="ann")
        except Conflict:
            return
        self.paused.add(run.id)

    async def resume(self, runs: list[Run[Any]]) -> None:
        """All of them that stand still."""
        for run in runs:
            if run.id in self.paused and (await self._fleet.desk.store.get(run.id)).status == "paused":
                await run.resume(by="ann")

    async def check(self, runs: list[Run[Any]], cancelled: list[Run[Any]]) -> None:
        """No answer was lost, and nobody was asked without a cause."""
        given = [*self.answered.values()]
        for run in runs:
            records = [record for _, record in await self._fleet.desk.store.load(run.id)]
            decided = [record.i for record in records if isinstance(record, Decided)]
            assert sorted(decided) == sorted(i for of, i in given if of == run.id), (run.id, decided)
            assert sum(isinstance(record, PauseAsked) for record in records) == (run.id in self.paused), run.id
            assert sum(isinstance(record, Resumed) for record in records) <= (run.id in self.paused), run.id
            asked = [record for record in records if isinstance(record, Asked) and record.kind != "in_doubt"]
            asked += [record for record in records if isinstance(record, Suspended) and record.kind != "timer"]
            most = QUESTIONS[run.id.partition("-")[0]]
            assert len(asked) == most or (run in cancelled and len(asked) <= most), (run.id, asked)
            self._check_doubts(run.id, records)

    def _check_doubts(self, run: str, records: list[Any]) -> None:
        """A call is in doubt only if it had begun in a worker that was disturbed."""
        owner, begun = 0, dict[str, int]()
        for record in records:
            match record:
                case Claimed():
                    owner = WorkerId.parse(record.worker).process or 0
                case Intended():
                    begun[record.call] = owner
                case Asked(kind="in_doubt"):
                    assert begun[record.call] in self.disturbed, (run, record)
                case _:
                    pass
