"""The scenarios themselves, without any death: what the rig compares with must be right."""

from pathlib import Path

import pytest
from tests.crash.life import inspect, live
from tests.crash.scenarios import SCENARIOS


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_scenario_that_nobody_disturbs_breaks_no_promise(name: str, tmp_path: Path) -> None:
    result = await live(tmp_path, SCENARIOS[name])
    assert result["status"] == ("cancelled" if name == "cancel" else "completed")
    assert await inspect(tmp_path) == []
