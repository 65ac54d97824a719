"""`results.json` as a page of the documentation with its pictures: `make performance`. No figure on it is typed in."""

import json
import sys
from pathlib import Path
from typing import Any

import capacity
import survival
from goals import HEAD, LINES, PEER_HEAD, PEERS, Figures, peer_goals, peer_rows, rows, shown

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
NAMES = {"floor": "floor", "adjourn": "Adjourn", **PEERS}
Bars = list[tuple[str, float]]

INTRODUCTION = """\
# Performance

This page is made by `make performance` of what `make bench` and `make bench-peers` measured: no figure is typed in.

A *turn* is a model step (500 bytes of text and a tool call) and a tool step (500 bytes back); each is on disk, synced, before the
next begins. Models take no time. Every measurement has a process of its own, repetitions are spread over the run, and a figure is
their median. The *floor* is the same payload written by hand with SQLite, without an agent, a loop or a check. On a busy machine
trust bytes, then ratios, then CPU, and wall time last.
"""

COLD = """\
Every framework in an environment of its own, on the same machine, interleaved, by the same rules: no one warms up, every step
is durable before the next one where the framework can do that (the Agent Framework's files are not synced; Agently has no store,
so what it saves is a row of SQLite). A dash: it did not end within a minute.
"""


def markdown(head: tuple[str, ...], found: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in (head, *found)]
    return "\n".join((lines[0], "|---" * len(head) + "|", *lines[1:]))


def under(machine: dict[str, Any]) -> str:
    return (
        f"Measured on {machine['date']}: Python {machine['python']}, {machine['cores']} cores, load {machine['load']} at the beginning, "
        f"{machine['seconds']} s in all."
    )


def page(results: dict[str, Any]) -> str:
    """The page's text."""
    parts = [INTRODUCTION]
    if own := results.get("own"):
        figures: Figures = own["medians"]
        reached = [ok for line in LINES for _, ok in line.goals(figures)]
        parts += [
            "## Beside the floor\n",
            under(own["machine"]) + f" {sum(reached)} of {len(reached)} goals reached.\n",
        ]
        parts += [markdown(HEAD, rows(figures)) + "\n"]
    if others := results.get("peers"):
        figures = others["medians"]
        parts += ["## Beside others\n", COLD, under(others["machine"]) + "\n"]
        if found := peer_rows(figures):
            parts += ["![CPU of a durable turn](images/performance-turns.svg)\n", markdown(PEER_HEAD, found) + "\n"]
        parts += [f"- {text}: {'reached' if ok else 'missed'}" for text, ok in peer_goals(figures)]
        if found := answers(figures):
            parts += [
                "\n### From an answer to the tool's body\n",
                "![Answer to body](images/performance-answers.svg)\n",
            ]
            parts += [markdown(("", "100 messages: ms", "CPU ms", "1,000 messages: ms", "CPU ms"), found) + "\n"]
    return "\n".join(parts)


def answers(figures: Figures) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for peer, title in NAMES.items():
        cells = [shown(figures.get(f"{peer}.answer {n}.{figure}")) for n in (100, 1000) for figure in ("ms", "cpu_ms")]
        if set(cells) != {"–"}:
            found.append((title, *cells))
    return found


def bars(figures: Figures, what: str, figure: str) -> Bars:
    return [(title, v) for peer, title in NAMES.items() if (v := figures.get(f"{peer}.{what}.{figure}"))]


def picture(title: str, unit: str, groups: list[tuple[str, Bars]]) -> str:
    """Horizontal bars, a group for each length; drawn for a light and a dark page alike."""
    most = max(value for _, group in groups for _, value in group)
    y, drawn = 44, [f'<text x="0" y="18" font-weight="600" font-size="15">{title} ({unit})</text>']
    for name, group in groups:
        drawn.append(f'<text x="0" y="{y}" font-size="13" font-weight="600">{name}</text>')
        y += 8
        for who, value in group:
            width, colour = max(2, round(value / most * 400)), "#2563eb" if who == "Adjourn" else "#94a3b8"
            drawn.append(f'<text x="0" y="{y + 14}" font-size="13">{who}</text>')
            drawn.append(f'<rect x="200" y="{y + 2}" width="{width}" height="15" rx="2" fill="{colour}"/>')
            drawn.append(f'<text x="{206 + width}" y="{y + 14}" font-size="12">{shown(value)}</text>')
            y += 21
        y += 26
    style = "<style>text{font-family:system-ui,sans-serif;fill:#0f172a}@media(prefers-color-scheme:dark){text{fill:#e2e8f0}}</style>"
    size = f'width="680" height="{y - 20}" viewBox="0 0 680 {y - 20}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{style}\n' + "\n".join(drawn) + "\n</svg>\n"


def files(results: dict[str, Any]) -> dict[Path, str]:
    """Everything that is made of the results, by where it is kept."""
    made = {DOCS / "performance.md": page(results)}
    if fleet := results.get("fleet"):
        survived = survival.section(results.get("campaign", {}), markdown)
        made[DOCS / "capacity.md"] = capacity.page(fleet, under(fleet["machine"]), markdown, survived)
    if others := results.get("peers"):
        figures: Figures = others["medians"]
        for name, title, unit, what, figure in (
            ("turns", "CPU of a durable turn, cold", "ms", "turns", "cpu_ms"),
            ("answers", "From an answer to the tool's body", "ms", "answer", "ms"),
        ):
            words = "turns" if what == "turns" else "messages"
            groups = [(f"{n:,} {words}", found) for n in (100, 1000) if (found := bars(figures, f"{what} {n}", figure))]
            if groups:
                made[DOCS / "images" / f"performance-{name}.svg"] = picture(title, unit, groups)
    return made


def main() -> None:
    results = json.loads((HERE / "results.json").read_text("utf-8"))
    made = files(results)
    if "--check" in sys.argv:
        old = [path.name for path, text in made.items() if not path.exists() or path.read_text("utf-8") != text]
        raise SystemExit(f"not what results.json says: {', '.join(old)}; run `make performance`" if old else 0)
    for path, text in made.items():
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
