"""The page about speed says what was measured, and the goals beside it are reached, missed, or not spoken of."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results.json"
MACHINE = {"date": "2026-01-02", "python": "3.11", "cores": 2, "load": 0.1, "seconds": 60}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The modules `goals` and `report`, which are scripts beside each other and no package."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "bench"), *sys.path])
    yield importlib.import_module
    for name in ("goals", "report"):
        sys.modules.pop(name, None)


@pytest.mark.skipif(not RESULTS.exists(), reason="nothing has been measured yet: make bench, make bench-peers")
def test_the_page_and_its_pictures_are_what_the_results_say(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["report.py", "--check"])
    with pytest.raises(SystemExit) as ended:
        bench("report").main()
    assert not ended.value.code, ended.value.code
    assert "performance.md" in (ROOT / "mkdocs.yml").read_text("utf-8"), (
        "nobody finds a page that is not in the contents"
    )


def line(bench: Any, **fields: Any) -> Any:
    goals = bench("goals")
    return goals.Line("work", "ms", goals.at("work.ms"), goals.at("floor.ms"), **fields)


@pytest.mark.parametrize(
    ("goal", "text", "reached", "missed"),
    [
        ({"most": 0.5}, "≤ 0.5", 0.5, 0.51),
        ({"least": 7000}, "≥ 7,000", 7000.0, 6999.0),
        ({"times": 2}, "≤ 2×", 6.0, 6.1),
        ({"more": 50}, "≤ +50", 53.0, 53.1),
    ],
    ids=["at most", "at least", "so many times as much", "so much more"],
)
def test_a_goal_is_reached_up_to_its_limit_and_missed_beyond_it(
    bench: Any, goal: dict[str, float], text: str, reached: float, missed: float
) -> None:
    for value, so in ((reached, True), (missed, False)):
        assert line(bench, **goal).goals({"work.ms": value, "floor.ms": 3.0}) == [(text, so)]


def test_what_was_not_measured_is_neither_reached_nor_missed(bench: Any) -> None:
    every = line(bench, most=1, least=1, times=1, more=1)
    assert every.goals({"floor.ms": 3.0}) == []
    assert [text for text, _ in every.goals({"work.ms": 1.0})] == ["≤ 1", "≥ 1"], "nothing to compare with"
    assert bench("goals").rows({}) == []


def test_a_growth_needs_both_lengths(bench: Any) -> None:
    growth = bench("goals").growth("turns", "cpu_ms", 100, 1000)
    assert growth({"turns 100.cpu_ms": 2.0, "turns 1000.cpu_ms": 3.0}) == 1.5
    assert growth({"turns 1000.cpu_ms": 3.0}) is None
    assert growth({"turns 100.cpu_ms": 0.0, "turns 1000.cpu_ms": 3.0}) is None


def test_every_peer_must_be_slower_and_each_length_counts(bench: Any) -> None:
    goals = bench("goals")
    figures = {"adjourn.turns 100.cpu_ms": 1.0, "dbos.turns 100.cpu_ms": 9.0, "langgraph.turns 100.cpu_ms": 4.0}
    [(_, reached)] = goals.peer_goals(figures)
    assert reached
    figures |= {"agently.turns 100.cpu_ms": 3.9, "adjourn.turns 1000.cpu_ms": 1.0, "dbos.turns 1000.cpu_ms": 4.0}
    assert [reached for _, reached in goals.peer_goals(figures)] == [False, True]
    assert goals.peer_goals({"dbos.turns 100.cpu_ms": 9.0}) == []


def test_the_page_counts_its_goals_and_shows_only_what_was_measured(bench: Any) -> None:
    own = {"inbox 100000.ms": 0.4, "floor.pending 100000.ms": 0.07, "import adjourn.ms": 1.0, "cancel 40.us": 900.0}
    peers = {"adjourn.turns 100.cpu_ms": 1.0, "dbos.turns 100.cpu_ms": 9.0}
    results = {"own": {"machine": MACHINE, "medians": own}, "peers": {"machine": MACHINE, "medians": peers}}
    made = {path.name: text for path, text in bench("report").files(json.loads(json.dumps(results))).items()}
    page = made["performance.md"]
    assert "1 of 2 goals reached" in page
    assert "| first 50 of 100,000 pending (ms) | 0.4 | 0.07 | 5.71 | ≤ 0.5 ok |" in page
    assert "≤ 200 missed" in page and "durable turn, CPU, 1,000 turns, warm" not in page
    assert "DBOS" in page and "LangGraph" not in page
    assert "DBOS" in made["performance-turns.svg"]


def test_there_is_a_picture_only_of_what_was_measured(bench: Any) -> None:
    peers = {"adjourn.turns 100.cpu_ms": 1.0, "dbos.turns 100.cpu_ms": 9.0}
    made = bench("report").files({"peers": {"machine": MACHINE, "medians": peers}})
    page, *pictures = made.values()
    assert [path.name for path in made][1:] == ["performance-turns.svg"] and len(pictures) == 1
    assert "performance-answers.svg" not in page and "performance-turns.svg" in page
