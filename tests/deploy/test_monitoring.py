"""The alert rules and the dashboard ask for numbers that exist."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.deploy.programs import run
from tests.runtime.exposed import Numbers

from adjourn import Runtime
from adjourn.runtime.prometheus import metrics_of

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus" / "alerts.yml"
DASHBOARD = DEPLOY / "grafana" / "adjourn.json"
NAME = re.compile(r"\badjourn_[a-z_]+\b")
PROMISED = {
    "adjourn_runs": {"status", "agent"}, "adjourn_interrupts_open": {"kind", "agent"}, "adjourn_interrupt_wait_seconds": {"outcome"},
    "adjourn_step_duration_seconds": {"kind"}, "adjourn_ready_to_start_seconds": set[str](), "adjourn_lease_takeovers_total": set[str](),
    "adjourn_calls_in_doubt_total": set[str](), "adjourn_undo_total": {"outcome"}, "adjourn_commit_seconds": set[str](),
    "adjourn_outbox_letters": {"state"}, "adjourn_halts": set[str](), "adjourn_store_bytes": set[str](),
    "adjourn_tokens_total": set[str](), "adjourn_cost_usd_total": set[str](),
}  # fmt: skip
"""What operators' own rules ask for, by these names and labels."""


async def names() -> set[str]:
    """What a process that has just begun can be asked for."""
    async with Runtime("memory://") as rt:
        return Numbers(await metrics_of(rt.store, rt.worker.advancer.meter)).names


def rules() -> list[dict[str, Any]]:
    [group] = yaml.safe_load(RULES.read_text("utf-8"))["groups"]
    return group["rules"]


def targets() -> list[str]:
    found: list[str] = []
    for panel in json.loads(DASHBOARD.read_text("utf-8"))["panels"]:
        found += [target["expr"] for target in panel.get("targets", ())]
    return found


@pytest.mark.anyio
async def test_every_number_of_the_rules_and_of_the_dashboard_exists() -> None:
    known = await names()
    asked = {name for rule in rules() for name in NAME.findall(rule["expr"])}
    drawn = {name for expression in targets() for name in NAME.findall(expression)}
    assert len(asked) > 8 and len(drawn) > 15
    assert not asked - known
    assert not drawn - known


@pytest.mark.anyio
async def test_what_operators_ask_for_is_there_by_its_name_and_labels() -> None:
    known = await names()
    page = (ROOT / "docs" / "guides" / "operations.md").read_text("utf-8")
    for name, labels in PROMISED.items():
        assert name in known or f"{name}_bucket" in known, name
        [said] = re.findall(rf"^\| (?:`\w+`, )*`{name}`[^|]*\| ([^|]*)\|", page, re.MULTILINE)
        assert labels <= set(re.findall(r"\w+", said)), name


@pytest.mark.anyio
async def test_the_dashboard_shows_every_number() -> None:
    drawn = {name for expression in targets() for name in NAME.findall(expression)}
    unused = {name for name in await names() if not name.endswith(("_sum", "_count"))} - drawn
    assert not unused


@pytest.mark.anyio
async def test_the_documentation_names_every_number() -> None:
    page = (ROOT / "docs" / "guides" / "operations.md").read_text("utf-8")
    said = set(NAME.findall(page))
    parts = ("_bucket", "_sum", "_count")
    assert not {name for name in await names() if not name.endswith(parts)} - said
    assert "adjourn_commit_seconds" in said


def test_every_alert_says_what_to_do() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in ("critical", "warning", "info"), rule["alert"]
        assert rule["annotations"].keys() == {"summary", "description"}, rule["alert"]


def test_panels_do_not_cover_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD.read_text("utf-8"))["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        taken |= cells


def test_promtool_accepts_the_rules_and_they_fire_when_they_should() -> None:
    assert f"{len(rules())} rules found" in run("promtool", "check", "rules", RULES.name, folder=RULES.parent)
    run("promtool", "test", "rules", "alerts_test.yml", folder=RULES.parent)


@pytest.mark.anyio
async def test_promtool_accepts_the_numbers() -> None:
    async with Runtime("memory://") as rt:
        text = await metrics_of(rt.store, rt.worker.advancer.meter)
    run("promtool", "check", "metrics", text=text)
