"""What `make bench-fleet` measures works at a small size too, and every measurement ends, also one whose worker does not."""

import importlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engines import restate_server, temporal_server
from tests.local_server import skip_without
from tests.stores.postgres.server import PostgresServer

ROOT = Path(__file__).parents[2]
SMALL: list[tuple[str, ...]] = [
    ("commits", "5"),
    ("crowd", "8"),
    ("steps", "3"),
    ("words", "3"),
    ("beside", "60", "120"),
    ("cuts", "3"),
    *((name, "2", kind) for kind in ("restate", "temporal") for name in ("steps", "words")),
]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`bench/run.py`, which is a script beside others and no package."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "bench"), *sys.path])
    yield importlib.import_module("run")
    for name in ("run", "goals", "capacity", "simulation"):
        sys.modules.pop(name, None)


@pytest.fixture
def server(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where measurements find PostgreSQL."""
    place = {"address": postgres.address(""), "pid": postgres.pid}
    monkeypatch.setenv("ADJOURN_BENCH_POSTGRES", json.dumps(place))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.mark.parametrize("what", SMALL, ids=" ".join)
@pytest.mark.usefixtures("server")
def test_every_measurement_of_the_fleet_works_at_a_small_size(run: Any, tmp_path: Path, what: tuple[str, ...]) -> None:
    if "restate" in what:
        restate_server.required()
    if "temporal" in what and temporal_server.program() is None:
        skip_without("Temporal", "`make setup` installs it")
    name, *arguments = what
    figures = run.measure(run.Measurement(f"fleet_cost.{name}", tuple(arguments), 1, timeout=300.0), str(tmp_path))
    assert not run.FAILED
    assert figures and all(value >= 0 for value in figures.values())


def test_every_measurement_of_the_plan_is_tried_at_a_small_size_and_has_an_end(run: Any) -> None:
    plan = run.fleet()
    assert {(m.function.rpartition(".")[2], *m.arguments[1:2]) for m in plan if not m.arguments[-1].isdigit()} == {
        (what[0], what[2]) for what in SMALL if not what[-1].isdigit()
    }
    assert {m.function.rpartition(".")[2] for m in plan} == {what[0] for what in SMALL}
    assert all(m.timeout <= 300.0 for m in plan)


@pytest.mark.usefixtures("server")
def test_a_measurement_whose_worker_cannot_begin_ends_and_says_why(run: Any, tmp_path: Path) -> None:
    what = run.Measurement("fleet_cost.words", ("2", "nothing"), 1, timeout=300.0)
    assert run.measure(what, str(tmp_path)) == {}
    [why] = run.FAILED
    assert "did not end" not in why and "KeyError: 'nothing'" in why


def test_a_measurement_that_does_not_end_leaves_no_process_behind(run: Any, tmp_path: Path) -> None:
    note, seconds = tmp_path / "pid", 2.0
    while not note.exists() or not note.read_text().strip():  # on a busy machine it needs longer to begin
        what = run.Measurement("os.system", (f"echo $$ > {note}; sleep 600; true",), 1, timeout=seconds)
        assert run.measure(what, str(tmp_path)) == {}
        seconds *= 2
    assert "did not end within" in run.FAILED[-1]
    while alive(int(note.read_text())):  # a signal needs a moment
        time.sleep(0.05)


def alive(pid: int) -> bool:
    """Whether it works: who has ended and was not yet asked for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
