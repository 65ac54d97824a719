"""The tour, told: each part shows what happened and checks that it is so."""

import json
import time

from rich.text import Text

from adjourn.cli.options import who
from adjourn.cli.terminal.console import Terminal
from adjourn.cli.terminal.format import DIM, STATUSES, arguments, count, exact
from adjourn.cli.terminal.interrupt import Item, render
from adjourn.cli.terminal.prompt import Choice, decide
from adjourn.cli.terminal.step_line import line
from adjourn.demo.tour import ORDER, RETURN, Ended, Tour, last_words
from adjourn.views.visible import visible

ORDER_TEXT = "Order 4417 arrived broken: make it right"
RETURN_TEXT = "Collect the broken glasses of order 4417 and pay for new ones"


class Teller:
    """Tells the tour, part by part. A person decides where one is there; else the tour does, and says so."""

    def __init__(self, tour: Tour, terminal: Terminal, asks: bool) -> None:
        self.tour, self.terminal, self.asks = tour, terminal, asks
        self.width = min(terminal.width, 100) - 3
        self.part = 0
        self.me = who(None)

    def tell(self, began: float) -> None:
        """The whole tour. Raises `TourFailed`, and `Later` if the person leaves."""
        self.line(Text.assemble(("Adjourn", "bold"), ": a run may stop anywhere, wait, and go on elsewhere."))
        self.aside(f"Real processes, a real kill -9, no key. The files: {self.tour.folder}", indent="")
        self.stops()
        item, choice = self.is_approved()
        self.is_approved_again(item)
        self.goes_on(choice)
        self.is_killed()
        self.proof(began)

    # Lines

    def line(self, *lines: str | Text) -> None:
        """Print."""
        self.terminal.print(*lines)

    def aside(self, text: str, indent: str = "   ") -> None:
        """A remark."""
        self.line(Text(indent + visible(text), style=DIM))

    def heading(self, text: str) -> None:
        """The next part begins."""
        self.part += 1
        self.line("", Text.assemble((f"{self.part}  ", DIM), (text, "bold")))

    def process(self, done: Ended, text: str) -> None:
        """What a process did."""
        self.line(Text.assemble("   ", (f"process {done.pid}", "blue"), f"  {text}"))

    def mark(self, status: str, text: str) -> None:
        """A line with a status's glyph."""
        glyph, colour, _ = STATUSES[status]
        self.line(Text.assemble("   ", (glyph, colour), f" {text}"))

    def steps(self, run: str, since: int = 0) -> None:
        """The calls of a run, one a line."""
        for step in [s for s in self.tour.timeline(run).steps if "." in s.id][since:]:
            note = f"   {visible(step.note)}" if step.note else ""
            self.mark(step.status or "ready", f"{step.name:<12}  {line(step)}{note}")

    def ask(self, item: Item, otherwise: Choice, word: str) -> Choice:
        """Show an item whole; a person decides, or the tour does."""
        for text in render(item, self.width):
            self.line(Text.assemble("   ", text) if text.plain else text)
        self.line("")
        if self.asks:
            return decide(item.interrupt)
        self.aside(f"› {word}   (nobody is asked: the tour answers itself)")
        return otherwise

    # Parts

    def stops(self) -> None:
        """A process stops before a consequential action, and ends."""
        tour = self.tour
        self.heading("An agent stops before a consequential action, and its process ends")
        done = tour.advance(ORDER, "refunds", ORDER_TEXT)
        self.process(done, f"starts «{ORDER_TEXT}»")
        self.steps(ORDER)
        saved = tour.checkpoint(ORDER)
        text = saved.to_json()
        tour.check(done.code == 3 and saved.status == "waiting", "the run waits and its process has ended")
        tour.check(not any(e.tool == "refund" for e in tour.entries()), "nothing was refunded yet")
        self.process(
            done, f"has ended (exit {done.code}). Nothing runs. The run is a checkpoint of {len(text):,} bytes:"
        )
        seen = json.loads(text)
        for names in (("format", "version", "run_id", "program"), ("kind", "seq", "status")):
            self.aside("  " + ", ".join(f'"{name}": {exact(seen[name])}' for name in names) + ",")
        tags = " ".join(str(record.__struct_config__.tag) for record in saved.records)
        self.aside(f'  "digest": "{seen["digest"][:19]}…", "records": "{tags}"')

    def is_approved(self) -> tuple[Item, Choice]:
        """The approver sees the exact action, and decides."""
        self.heading("A person decides: first the exact action, then why it asks, last the agent’s own words")
        item = self.tour.item(ORDER)
        choice = self.ask(item, Choice("approve"), "approve once")
        settled = self.tour.decide(item, choice, self.me)
        self.tour.check(settled.seq > 0, "the decision is recorded")
        done = {"approve": "Approved", "deny": "Denied"}[choice.verb] + (", edited," if choice.edit else "")
        status = "cancelled" if choice.verb == "deny" else "completed"
        self.mark(status, f"{done} by {visible(self.me)}: record {settled.seq} of the run")
        return item, choice

    def is_approved_again(self, item: Item) -> None:
        """Others approve the same, and are told who was first."""
        self.heading("Two other processes send an approval of the same action")
        for done in self.tour.approve_again(item.interrupt.id, ["ben", "carl"]):
            self.tour.check(done.code == 1 and "already_decided · 409" in done.said, f"{done.said!r} is a refusal")
            self.process(done, visible(done.said.splitlines()[0]))

    def goes_on(self, choice: Choice) -> None:
        """Another process finishes the run."""
        tour = self.tour
        self.heading("Another process goes on")
        done = tour.advance(ORDER)
        refunded = [e for e in tour.entries() if e.tool == "refund"]
        tour.check(done.code == 0, "the run is completed")
        tour.check(len(refunded) == (choice.verb == "approve"), "the refund ran once if approved, else never")
        if refunded:
            cents = (choice.edit or {"cents": 48250})["cents"]
            same = refunded[0].args["cents"] == cents and refunded[0].pid == done.pid
            tour.check(same, "what was approved is what ran, and in this process")
        self.process(done, f"began, went on and ended in {done.seconds:.1f} s")
        self.steps(ORDER, since=1)
        self.mark("completed", visible(str(last_words(tour.checkpoint(ORDER)))))

    def is_killed(self) -> None:
        """A process dies between an effect and its record."""
        tour = self.tour
        self.heading("kill -9 between an effect and its record")
        gone = tour.kill_in_the_middle(RETURN, "returns", RETURN_TEXT)
        self.process(gone, "book_courier and pay_supplier have acted; neither result is recorded yet")
        tour.check(gone.code not in (0, 3, 4), "the process was killed")
        self.mark("failed", f"kill -9 {gone.pid}: gone (exit {gone.code})")
        done = tour.advance(RETURN)
        tour.check(done.code == 3, "the run waits for a person")
        self.process(done, "takes the run over")
        self.steps(RETURN)
        self.is_recovered(gone, done)
        self.is_settled()

    def is_recovered(self, gone: Ended, done: Ended) -> None:
        """By effect: not again; again with the same key; not without a person."""
        check, entries = self.tour.check, self.tour.entries()
        courier, supplier = ([e for e in entries if e.tool == t] for t in ("book_courier", "pay_supplier"))
        check(not any(e.tool == "get_order" and e.pid == done.pid for e in entries), "get_order did not run again")
        check([e.pid for e in courier] == [gone.pid, done.pid], "the idempotent call ran again")
        check(len({e.key for e in courier}) == 1 and not courier[1].effect, "it came with the same key")
        check([e.pid for e in supplier] == [gone.pid], "the unsafe call did not run again")
        self.aside(
            f"get_order was recorded; book_courier ran again with its key {courier[0].key[:8]}; pay_supplier is not guessed:"
        )

    def is_settled(self) -> None:
        """A person looks at the world and says what happened."""
        tour = self.tour
        item = tour.item(RETURN)
        tour.check(item.interrupt.kind == "in_doubt", "the unsafe call is put to a person")
        paid = next(e for e in tour.entries() if e.tool == "pay_supplier")
        happened = Choice("answer", {"choice": "happened", "result": {"paid_cents": paid.args["cents"]}})
        self.aside(
            f"the ledger has a line: pay_supplier {arguments(paid.args)}, key {paid.key[:8]}, process {paid.pid}"
        )
        self.line("")
        choice = self.ask(item, happened, "happened: the ledger has the payment")
        tour.decide(item, choice, self.me)
        done = tour.advance(RETURN)
        self.process(done, f"goes on and ends in {done.seconds:.1f} s (exit {done.code})")
        words = last_words(tour.checkpoint(RETURN))
        self.mark("completed" if done.code == 0 else "cancelled", visible(str(words)) if words else "cancelled")

    def proof(self, began: float) -> None:
        """What really happened, whatever the store says."""
        tour = self.tour
        self.heading("What really happened: the ledger, written by the tools outside the store")
        for key in dict.fromkeys(e.key for e in tour.entries()):
            lines = [e for e in tour.entries() if e.key == key]
            effects = sum(e.effect for e in lines)
            pids = ", ".join(f"{e.pid}{' killed' if e.pid in tour.killed else ''}" for e in lines)
            times = {0: "only reads", 1: "happened once"}.get(effects, f"happened {effects} times")
            refused = ": its key refused the second" if len(lines) > effects > 0 else ""
            self.line(
                f"   {lines[0].tool:<12}  {arguments(lines[0].args):<19}  key {key[:8]}  {pids:<20}  {times}{refused}"
            )
        tour.check(max(tour.results().values()) == 1, "every call has one result")
        twice = max(tour.effects().values()) > 1
        if twice:  # only a person at the prompt can bring this about
            self.mark("waiting", "pay_supplier happened twice: a person said it had not. Nothing ran twice by itself.")
        else:
            tour.check(max(tour.effects().values()) == 1, "nothing took effect twice")
        took = time.monotonic() - began
        text = "" if twice else "Nothing ran twice. "
        self.mark("completed", f"{text}{count(tour.checks, 'check')} of this tour passed; it took {took:.1f} s.")
