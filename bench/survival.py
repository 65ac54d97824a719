"""What `make fleet-campaign` saw, as a part of the page about capacity."""

from typing import Any

from goals import ENGINES, shown

STORES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
RUNS = "200 runs over four workers, with pauses, approvals, timers, cancels, nested agents and flows"
Survival = dict[str, Any]


def section(campaign: Survival, markdown: Any) -> str:
    """The part's text; "" if nothing was kept. `markdown(head, rows)` makes a table."""
    lives, takeovers = _lives(campaign.get("lives", {})), _takeovers(campaign.get("takeovers", {}))
    if not lives:
        return ""
    machine = campaign["machine"]
    under = (
        f"Measured by `make fleet-campaign` on {machine['date']}: Python {machine['python']}, {machine['cores']} cores, load "
        f"{machine['load']} at the beginning. {RUNS}, while this happened. Under engines also wakes were lost, doubled and late. "
        "Nothing recorded was repeated and no answer was lost."
    )
    head = ("", "all ended after (s)", "workers killed", "frozen", "engine restarted", "database crashed")
    if any("cut" in one for one in campaign["lives"].values()):
        head = (*head, "connections cut")
    parts = [
        "## What it survives\n",
        under + "\n",
        markdown(head, lives) + "\n",
    ]
    if takeovers:
        loads = sorted({str(one["load"]) for one in campaign["takeovers"].values()})
        under = f"(load {' and '.join(loads)} at the beginning)"
        parts.append(f"Seconds until another worker of the same machine continued, with nothing else to do {under}:\n")
        parts.append(
            markdown(("", "after a kill", "after a freeze (lease of 2 s; the middle one of five)"), takeovers) + "\n"
        )
    if longest := campaign.get("cluster"):
        parts.append(
            f"Of a cluster of three nodes of Restate each was killed in turn under 200 runs: all work stood still for {shown(longest)} s "
            "at most, until new leaders were chosen.\n"
        )
    return "\n".join(parts)


def _lives(lives: Survival) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    disturbances = ["kill", "freeze", "engine", "database"]
    if any("cut" in one for one in lives.values()):
        disturbances.append("cut")
    for kind, title in ENGINES.items():
        for store, where in STORES.items():
            if one := lives.get(f"{kind} on {store}"):
                bad = [str(one.get(what, 0)) for what in disturbances]
                found.append((f"{title}, {where}", shown(one["seconds"]), *bad))
    return found


def _takeovers(takeovers: Survival) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for kind, title in ENGINES.items():
        if one := takeovers.get(kind):
            found.append((title, shown(one["kill"]), shown(one["freeze"])))
    return found
