"""`adjourn requests`: what the models of a run were sent, made again from its journal."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from adjourn.cli.error_report import says
from adjourn.cli.interrupt_lookup import find_run
from adjourn.cli.opened_database import with_runtime
from adjourn.cli.options import Db, Json, RunId
from adjourn.cli.terminal.console import give, out, print_json, print_table, remark
from adjourn.cli.terminal.format import DIM, arguments, count, exact
from adjourn.cli.terminal.hints import command
from adjourn.core.messages import AssistantMessage, Message, ToolCall, ToolResult
from adjourn.core.messages import Text as Words
from adjourn.core.rebuilt_requests import AS_SENT, SentRequest
from adjourn.errors import Invalid, NotFound
from adjourn.runtime.runtime import Runtime
from adjourn.views.visible import lines, visible

app = typer.Typer()
HEAD = ("RECORD", "WHAT", "AGENT", "MODEL", "MESSAGES", "PROOF", "DIGEST")


@app.command()
@says("Not shown")
def requests(
    run: RunId,
    db: Db = None,
    as_json: Json = False,
    at: Annotated[
        int | None,
        typer.Option(
            "--at",
            metavar="RECORD",
            min=1,
            help="Only the request of this record, in full.",
            show_default=False,
        ),
    ] = None,
    exactly: Annotated[
        bool,
        typer.Option("--lines", help="With --at: print exactly the bytes that the digest covers."),
    ] = False,
) -> None:
    """Show and verify the exact requests that models were sent."""
    if exactly and not at:
        raise Invalid("--lines prints one request: select it with --at RECORD")
    if exactly and sys.stdout.isatty():
        raise Invalid(
            "--lines prints raw text, which can control a terminal: write it to a file or a pipe"
        )

    async def work(rt: Runtime) -> tuple[str, list[SentRequest]]:
        row = await find_run(rt, run)
        return row.id, await (await rt.get(row.id)).requests()

    run_id, found = with_runtime(db, work)
    if not at:
        hint = ""
        if found:
            hint = command(db, "requests", run_id, options=("--at", str(found[-1].seq)))
        _print_all(found, as_json, hint)
        return
    one = next((one for one in found if one.seq == at), None)
    if one is None:
        raise NotFound(
            f"record {at} of run {run_id!r} is not a model's reply",
            advice=f"{command(db, 'requests', run_id)} lists those that are",
        )
    if exactly:
        sys.stdout.buffer.write(one.lines())
    elif as_json:
        print_json(one.whole())
    else:
        _print_one(one)


def _print_all(found: Sequence[SentRequest], as_json: bool, hint: str) -> None:
    if give(as_json, [one.gist() for one in found]):
        return
    print_table(HEAD, [*map(_cells, found)])
    unproved = sum(one.proof != AS_SENT for one in found)
    tail = f", {unproved} without proof" if unproved else ""
    remark(f"{count(len(found), 'request')}{tail}.{f' Look at one: {hint}' if hint else ''}")


def _cells(one: SentRequest) -> tuple[str, ...]:
    model = visible(one.terms.model) if one.terms else "–"
    return (
        str(one.seq),
        one.what,
        visible(one.agent),
        model,
        str(len(one.messages)),
        one.proof,
        one.digest[:16] or "–",
    )


def _print_one(one: SentRequest) -> None:
    terminal = out()
    terminal.print(
        Text(f"{one.proof}  sha256:{one.digest}" if one.digest else one.proof, style="bold")
    )
    if one.terms is not None:
        terminal.print(Text(f"model {visible(one.terms.model)}", style=DIM))
        terminal.print(*_headed("instructions", one.terms.instructions))
        for tool in one.terms.tools:
            terminal.print(Text(f"tool  {visible(tool['name'])}", style=DIM))
        if one.terms.settings:
            terminal.print(Text(f"settings  {exact(one.terms.settings)}", style=DIM))
    for message in one.messages:
        terminal.print(*_told(message))


def _headed(head: str, text: str) -> list[str]:
    return [f"{head}  {piece}" for piece in lines(text)]


def _told(message: Message) -> list[str]:
    if isinstance(message, ToolResult):
        return [f"result of {visible(message.tool)}  {exact(message.content)}"]
    if not isinstance(message, AssistantMessage):
        return _headed("user", message.text)
    found: list[str] = []
    for part in message.parts:
        if isinstance(part, Words):
            found += _headed("assistant", part.text)
        elif isinstance(part, ToolCall):
            found.append(f"assistant calls {visible(part.tool)}  {arguments(part.args)}")
    return found
