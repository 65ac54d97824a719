"""`adjourn audit`: who wanted what; and the seals that show whether anybody has changed it
since."""

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from adjourn.cli.completion import complete_runs
from adjourn.cli.error_report import says
from adjourn.cli.extras import needs
from adjourn.cli.interrupt_lookup import find_run
from adjourn.cli.opened_database import with_runtime
from adjourn.cli.options import Db, Json, option
from adjourn.cli.suggestions import check_lines_of
from adjourn.cli.terminal.console import give, out, print_json, remark, to_json
from adjourn.cli.terminal.format import DIM, short_id
from adjourn.cli.terminal.hints import typed_again
from adjourn.cli.times import past_time
from adjourn.errors import Invalid, UnknownRun
from adjourn.runtime.audit_verbs import seal_json
from adjourn.runtime.runtime import Runtime
from adjourn.stores.audit import SECURITY, AuditFilter
from adjourn.stores.audit_key import AuditKey, audit_keys
from adjourn.stores.seals import Anchor
from adjourn.views.audit_entry import AuditEntry, csv_of, entries
from adjourn.views.visible import visible


class AuditCommands(TyperGroup):
    """`show` is what is meant when no command is named: `adjourn audit`, `adjourn audit RUN`,
    `adjourn audit --security`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the word in that was left out."""
        named = args and (args[0] in self.commands or args[0] == "--help")
        return super().parse_args(ctx, args if named else ["show", *args])


app = typer.Typer(
    name="audit",
    cls=AuditCommands,
    help="The audit log: show, verify, seal, anchor, export.",
)

Key = Annotated[
    list[str] | None,
    option(
        "FILE",
        "Key of the seals: a private key signs and verifies, public lines (ed25519 …) "
        "verify; may be repeated. "
        "Without it, ADJOURN_AUDIT_SECRET, if that is set.",
        "--audit-key",
    ),
]
OfPerson = Annotated[str, option("NAME", "Only lines of this person.", "--by")]
OfVerb = Annotated[
    str,
    option("VERB", "Only this verb: approve, deny, answer, start, pause, cancel, halt …", "--verb"),
]
OfAgent = Annotated[str, option("NAME", "Only lines of this agent.", "--agent")]
OfTool = Annotated[str, option("NAME", "Only lines of this tool.", "--tool")]
WithText = Annotated[
    str, option("TEXT", "Only lines with this in a name, a note or an argument.", "--text")
]
OnlyRefused = Annotated[bool, typer.Option("--refused", help="Only refused commands.")]
Since = Annotated[
    str, option("TIME", "Only lines since then: 7d, 12h, or a date such as 2031-01-31.", "--since")
]
Until = Annotated[str, option("TIME", "Only lines until then; same forms as --since.", "--until")]
After = Annotated[
    str,
    option(
        "CURSOR",
        "Continue after this line: the `cursor` of the last line shown.",
        "--after",
    ),
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="Maximum number of lines.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV instead of text.")]


def _keys(files: list[str] | None) -> list[AuditKey]:
    with needs("signing"):
        return list(audit_keys(files))


@app.command()
@says("Not shown")
def show(
    run: Annotated[
        str,
        typer.Argument(
            metavar="[RUN]",
            help="Only lines of this run.",
            show_default=False,
            autocompletion=complete_runs,
        ),
    ] = "",
    security: Annotated[
        bool,
        typer.Option("--security", help="The security log instead: logins, keys, users, refusals."),
    ] = False,
    by: OfPerson = "",
    verb: OfVerb = "",
    agent: OfAgent = "",
    tool: OfTool = "",
    text: WithText = "",
    refused: OnlyRefused = False,
    since: Since = "",
    until: Until = "",
    after: After = "",
    limit: Limit = 100,
    as_csv: AsCsv = False,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Show the audit log, newest first: every command, who issued it, from where, and its
    result."""
    if run and security:
        raise Invalid("the security log is not about one run: leave RUN out, or --security")

    async def work(rt: Runtime) -> list[AuditEntry]:
        now = rt.store.now()
        wanted = AuditFilter(
            by=by,
            verb=verb,
            run=await _run(rt, run),
            agent=agent,
            tool=tool,
            text=text,
            since=past_time(since, now) if since else 0.0,
            until=past_time(until, now, end=True) if until else 0.0,
            refused=True if refused else None,
        )
        lines = await rt.store.recent(after, limit, security=security, wanted=wanted)
        if not lines:
            await check_lines_of(rt, wanted, security=security)
        return await entries(rt.store, lines)

    lines = with_runtime(db, work)
    if give(as_json, lines):
        return
    if as_csv:
        sys.stdout.write(csv_of(lines))
        return
    terminal = out()
    for line in lines:
        terminal.print(_shown(line, whole=not terminal.tty))
    if not lines:
        remark("No lines found.")
    if len(lines) == limit:
        older = typed_again(db, {"after": lines[-1].cursor})
        remark(f"Older lines: {older}")


async def _run(rt: Runtime, wanted: str) -> str:
    """The id of the run that is meant; one that was pruned still has an audit."""
    if not wanted:
        return ""
    try:
        return (await find_run(rt, wanted)).id
    except UnknownRun:
        if wanted != SECURITY and await rt.store.audit(wanted, limit=1):
            return wanted
        raise


def _shown(line: AuditEntry, *, whole: bool) -> Text:
    run, more = line.run_id, line.more
    name = "-"
    if run and run != SECURITY:
        name = visible(run) if whole else short_id(run)
    beside: list[str] = []
    if line.origin:
        beside.append(f"from {line.origin}")
    if more.get("count", 1) > 1:
        beside.append(f"{more['count']} times")
    if line.seq:
        beside.append(f"record {line.seq}")
    return Text.assemble(
        time.strftime("%Y-%m-%d %H:%M:%S  ", time.localtime(line.at)),
        (f"{name:9}  ", DIM),
        (visible(str(line.told)), "red" if line.refused else ""),
        ("".join(f"  {visible(word)}" for word in beside), DIM),
    )


@app.command()
@says("Not checked")
def verify(
    since: Annotated[
        str,
        option(
            "ANCHOR",
            "An anchor, or a file with one: everything it covers must still be there.",
            "--since",
        ),
    ] = "",
    key: Key = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Verify every journal, the audit, the rows made of them, and the seals.

    Exits with 1 if anything was modified. Without a key or an anchor, anyone who can write the file
    can rewrite it.
    """
    keys, anchor = _keys(key), _anchor(since)
    found = with_runtime(db, lambda rt: rt.verification(since=anchor, key=keys))
    if as_json:
        seal = found.seal
        print_json(
            {
                "broken": [str(place) for place in found],
                "says": str(found),
                "seal": seal.k if seal else None,
                "sealed_at": seal.at if seal else None,
                "signed_by": seal.kid if seal and found.is_signed else None,
                "lines": found.lines,
                "records": found.records,
            }
        )
    elif found:
        for place in found:
            out().print(Text.assemble(("✗ ", "red"), visible(str(place))))
    else:
        out().print(visible(str(found)))
    if found:
        raise typer.Exit(1)


def _anchor(since: str) -> Anchor | None:
    if not since:
        return None
    if since == "-":
        return Anchor.read(sys.stdin.read())
    if since.lstrip().startswith("{") or "hash=" in since:
        return Anchor.read(since)
    try:
        return Anchor.read(Path(since).read_text("utf-8"))
    except FileNotFoundError:
        return Anchor.read(since)  # which says what an anchor looks like
    except (OSError, UnicodeDecodeError) as e:
        raise Invalid(f"the anchor {since!r:.200} cannot be read: {e}") from None


@app.command()
@says("Not sealed")
def seal(key: Key = None, db: Db = None, as_json: Json = False) -> None:
    """Seal what was recorded since the last seal. A server or a worker does it every ten seconds by
    itself."""
    keys = _keys(key)

    async def work(rt: Runtime) -> dict[str, Any]:
        made = await rt.audit_seal()
        if made is None:
            await _check_key(rt, keys)
        return {"seal": seal_json(made) if made else None}

    done = with_runtime(db, work, audit_key=keys)
    if as_json:
        print_json(done)
    elif done["seal"]:
        out().print(f"Seal {done['seal']['k']}{_by(done['seal']['kid'])}.")
    else:
        out().print("There is nothing to seal.")


async def _check_key(rt: Runtime, keys: list[AuditKey]) -> None:
    """That there was nothing to seal must not mean that this process could not."""
    last = await rt.store.seals(-1)
    if last and last[0].kid and not any(key.can_sign for key in keys):
        raise Invalid(
            f"the seals of this store are signed by {last[0].kid}",
            advice="give a private key: --audit-key FILE",
        )


def _by(kid: str) -> str:
    if kid:
        return f", signed by {kid}"
    return ", not signed"


@app.command()
@says("No anchor")
def anchor(key: Key = None, db: Db = None, as_json: Json = False) -> None:
    """Seal, and print the anchor of the last seal, to be kept where the writers of the file cannot
    reach.

    Later, `adjourn audit verify --since ANCHOR` proves that everything it covers is still there.
    """
    keys = _keys(key)
    made = with_runtime(db, lambda rt: rt.audit_anchor(), audit_key=keys)
    give(as_json, made.as_json(), str(made))
    if not made.kid:
        remark("It is not signed. Its reader must trust the channel it came through.")


@app.command()
@says("Not exported")
def export(
    after: Annotated[
        int,
        typer.Option(
            "--after", metavar="K", min=0, help="Only lines covered by seals after this number."
        ),
    ] = 0,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Print the sealed lines and the seals, one JSON object per line. The next export starts after
    the last seal's `k`."""

    async def work(rt: Runtime) -> int:
        sealed = after
        async for item in rt.audit_export(after):
            sys.stdout.write(to_json(item, indent=None) + "\n")
            sealed = item["k"]
        return sealed

    last = with_runtime(db, work)
    remark(f"Up to seal {last}. The next: {typed_again(db, {'after': str(last)})}")
