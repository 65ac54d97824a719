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
    """The modules of `bench`, which are scripts beside each other and no package."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "bench"), *sys.path])
    yield importlib.import_module
    for name in ("goals", "report", "capacity", "simulation", "survival"):
        sys.modules.pop(name, None)


@pytest.mark.skipif(not RESULTS.exists(), reason="nothing has been measured yet: make bench, make bench-peers")
def test_the_page_and_its_pictures_are_what_the_results_say(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["report.py", "--check"])
    with pytest.raises(SystemExit) as ended:
        bench("report").main()
    assert not ended.value.code, ended.value.code
    contents = (ROOT / "mkdocs.yml").read_text("utf-8")
    for page in ("performance.md", "capacity.md"):
        assert page in contents, "nobody finds a page that is not in the contents"


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


FLEET = {
    "fleet_cost.steps 40.steps_s": 2600.0, "fleet_cost.steps 40.cpu_ms": 0.5, "fleet_cost.steps 40.postgres_ms": 1.0,
    "fleet_cost.steps 40.wal_bytes": 3000.0, "fleet_cost.commits 300.ms": 1.8, "fleet_cost.commits 300.floor_ms": 0.5,
    "fleet_cost.words 60.parked_bytes": 10_000.0, "fleet_cost.cuts 500.cut": 510.0, "fleet_cost.cuts 500.wrong": 0.0,
}  # fmt: skip


def test_a_queue_carries_what_its_stations_can_do_and_turns_wait_when_there_is_more(bench: Any) -> None:
    simulation = bench("simulation")
    one = simulation.Station("database", 2, 0.01)  # 200 turns a second
    calm, crowded = simulation.simulate(100, 1.0, [one]), simulation.simulate(600, 1.0, [one])
    assert calm.turns == pytest.approx(100, rel=0.1) and calm.busy["database"] == pytest.approx(0.5, rel=0.15)
    assert crowded.turns == pytest.approx(200, rel=0.05) and crowded.delay > 10 * calm.delay
    runs, load = simulation.carried(1.0, [one], 0.1, 0.7)
    assert 100 < runs < 150 and load.delay <= 0.1 and load.busy["database"] <= 0.7
    seldom = simulation.Station("engine", 1, 0.01, share=0.05)
    assert simulation.simulate(100, 1.0, [one, seldom]).busy["engine"] == pytest.approx(0.05, rel=0.3)


def test_the_page_about_capacity_says_what_was_measured_and_what_was_simulated(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    capacity = bench("capacity")
    monkeypatch.setattr(capacity, "SIZES", (1,))
    monkeypatch.setattr(capacity, "THINK", 0.3)
    monkeypatch.setattr(capacity, "CORES", 1)
    found = capacity.simulated({**FLEET, "fleet_cost.words 60 restate.engine_ms": 10.0})
    assert 150 < found["postgres 1"]["runs"] < 250 and "restate" in found and "temporal" not in found
    fleet = {"machine": MACHINE, "medians": FLEET, "capacity": found}
    page = {path.name: text for path, text in bench("report").files({"fleet": fleet}).items()}["capacity.md"]
    assert "| durable steps per second, 40 runs in one worker (/s) | 2,600 |" in page
    assert "≤ 3× missed" in page and "3 of 4 goals reached" in page
    assert "1,000,000 parked: disk (GB) | 10 |" in page
    assert "Temporal |" not in page
    assert capacity.simulated({}) == {}


def test_the_page_about_capacity_says_what_a_campaign_survived(bench: Any) -> None:
    life = {"seconds": 30.4, "kill": 6, "freeze": 2, "database": 3}
    takeover = {"kill": 0.25, "freeze": 2.1, "load": 1.2}
    campaign = {
        "machine": MACHINE,
        "lives": {"restate on postgres": life},
        "takeovers": {"restate": takeover},
        "cluster": 8.2,
    }
    results = {"fleet": {"machine": MACHINE, "medians": FLEET}, "campaign": campaign}
    page = {path.name: text for path, text in bench("report").files(results).items()}["capacity.md"]
    assert "| Restate, PostgreSQL | 30.4 | 6 | 2 | 0 | 3 |" in page
    assert "| Restate | 0.25 | 2.1 |" in page and "stood still for 8.2 s" in page
    assert "nothing else to do (load 1.2 at the beginning)" in page
    del results["campaign"]
    page = {path.name: text for path, text in bench("report").files(results).items()}["capacity.md"]
    assert "What it survives" not in page
