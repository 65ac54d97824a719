"""The options of a decision that stands for later calls."""

from typing import Annotated, Any

import typer

from adjourn.cli.options import option
from adjourn.core.duration import span_of
from adjourn.core.standing_decision import Standing, read_terms
from adjourn.errors import Invalid

Stands = Annotated[
    bool,
    typer.Option("--stands", help="Also for later calls of this run with the same arguments."),
]
Where = Annotated[
    list[str] | None,
    option(
        "CONDITION",
        (
            "Also for later calls whose arguments match: order_id=44*, amount<=100; * for any. If "
            "repeated, all must match."
        ),
        "--where",
    ),
]
Lasts = Annotated[
    str, option("SPAN", "Also for later calls, for this time: 30m, 8h, 2d.", "--lasts")
]
Times = Annotated[
    int | None,
    typer.Option(
        "--times",
        metavar="N",
        min=2,
        help="Also for later calls, up to this number in total, including this one.",
        show_default=False,
    ),
]


def standing_terms(
    stands: bool, where: list[str] | None, lasts: str, times: int | None
) -> Standing | None:
    """For which later calls a decision stands; None if no option says so."""
    if not (stands or where or lasts or times):
        return None
    given: dict[str, Any] = {"where": where or []}
    if lasts:
        span = span_of(lasts)
        if not span:
            raise Invalid(f"--lasts must be a duration such as 30m, 8h or 2d, got {lasts!r}")
        given["lasts"] = span
    if times:
        given["times"] = times
    return read_terms(given)
