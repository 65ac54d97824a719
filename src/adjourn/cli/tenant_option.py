"""`--tenant`: for whom a person works at the terminal. Commands that are named here then see and change
the runs of that tenant only; all others that have a database refuse it."""

import os
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer._click.globals import get_current_context
from typer.main import get_command

from adjourn.errors import AdjournError, NotAllowed

VARIABLE = "ADJOURN_TENANT"
FOR_TENANTS = frozenset(
    (
        "start", "schedule", "runs", "show", "requests", "watch", "inbox", "policies", "audit show",
        "numbers", "compare", "db prune",
        "approve", "deny", "answer", "dismiss", "retry", "assign", "snooze", "comment", "standing", "revoke",
        "pause", "resume", "cancel", "bulk", "accept", "say", "chapter", "fork", "again", "erase", "hold",
    )
)  # fmt: skip
"""Commands that can work for one tenant."""
_META = "adjourn.tenant"


def tenant() -> str:
    """For whom this command works; "" for all."""
    context = get_current_context(silent=True)
    if context is None:
        return ""
    return context.meta.get(_META, "")


def add_tenant(command: Any, name: str) -> Any:
    """Give a command that has `--db` the option, and each of those in a group.

    Args:
        command: the command, or the group.
        name: its words, without that of the program.
    """
    for word, one in getattr(command, "commands", {}).items():
        add_tenant(one, f"{name} {word}")
    words = {parameter.name for parameter in command.params}
    if "tenant" in words:  # whose users are made or changed
        command.callback = _gated(command.callback, name)
    elif "db" in words:
        command.params.append(_option(name))
    return command


def _gated(work: Callable[..., Any], name: str) -> Callable[..., Any]:
    def gated(*args: Any, **options: Any) -> Any:
        if value := os.environ.get(VARIABLE):
            _check(value, name)
        return work(*args, **options)

    return gated


def _option(name: str) -> Any:
    made = typer.Typer(add_completion=False)

    def chosen(ctx: typer.Context, value: str | None) -> str:
        ctx.meta[_META] = value or ""
        if value and not ctx.resilient_parsing:
            _check(value, name)
        return value or ""

    @made.command()
    def _(  # pyright: ignore[reportUnusedFunction]
        tenant: Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help="Work for this tenant: only its runs are visible.",
                envvar=VARIABLE,
                show_envvar=True,
                hidden=name not in FOR_TENANTS,
                expose_value=False,
                is_eager=True,
                callback=chosen,
            ),
        ] = None,
    ) -> None: ...

    [option] = [one for one in get_command(made).params if one.name == "tenant"]
    return option


def _check(value: str, name: str) -> None:
    from adjourn.cli.error_report import report
    from adjourn.runtime.arguments import checked_tenant

    try:
        checked_tenant(value)
        if name not in FOR_TENANTS:
            raise NotAllowed(
                f"`adjourn {name}` covers the runs of all tenants, not only those of {value!r}",
                advice=(
                    "ask a person who works for all tenants: without --tenant, and with "
                    f"{VARIABLE} unset"
                ),
            )
    except AdjournError as e:
        raise typer.Exit(report(e, "Nothing was done")) from None
