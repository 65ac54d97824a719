"""`adjourn policies`: which rules asked, how often, and what people decided."""

from typing import Annotated

import typer

from adjourn.cli.error_report import says
from adjourn.cli.opened_database import with_runtime
from adjourn.cli.options import Db, Json, option
from adjourn.cli.terminal.console import give, print_table, remark
from adjourn.cli.terminal.format import count
from adjourn.cli.times import past_time
from adjourn.runtime.runtime import Runtime
from adjourn.views.policy_view import PolicyView, policies, rules_of
from adjourn.views.visible import visible

app = typer.Typer()
HEAD = ("AGENT", "RULE", "ASKED", "APPROVED", "DENIED", "ANSWERED", "EXPIRED", "OPEN")


@app.command("policies")
@says("Not shown")
def policies_(
    db: Db = None,
    as_json: Json = False,
    since: Annotated[
        str, option("TIME", "Only since then: 7d, 12h, or a date such as 2031-01-31.", "--since")
    ] = "30d",
) -> None:
    """List the rules that asked a person, and how often."""

    async def work(rt: Runtime) -> PolicyView:
        start = past_time(since, rt.store.now())
        return await policies(rt.store, rules_of(rt.programs), start)

    found = with_runtime(db, work)
    if give(as_json, found):
        return
    if not found.rules:
        remark("No rule has asked a person since then.")
        return
    rows: list[list[str]] = []
    for use in found.rules:
        numbers = (use.asked, use.approved, use.denied, use.answered, use.expired, use.open)
        rows.append([visible(use.agent), visible(use.rule), *map(str, numbers)])
    print_table(HEAD, rows)
    told = f"{count(found.counted, 'decision')} counted."
    if not found.complete:
        told += " There are older ones: only the newest were counted."
    remark(told)
