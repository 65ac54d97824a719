"""What the guide shows of a terminal is what a terminal shows; and the reference has every command and every option."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli import yard
from tests.cli.conftest import AtTerminal, screen
from tests.cli.test_commands import LEAVES
from tests.cli.test_run import reached

DOCS = Path(__file__).parents[2] / "docs"
YARD = str(Path(yard.__file__))


def block(page: str, info: str) -> list[str]:
    [found] = re.findall(
        rf"^```{re.escape(info)}\n(.*?)^```", (DOCS / page).read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    return found.splitlines()


def fits(pattern: str, text: str) -> bool:
    # The column of ids is as wide as the longest that was drawn, also in the lines that are gone in the end.
    pattern, text = (re.sub(" {2,}", "  ", given) for given in (pattern, text))
    return re.fullmatch(".*".join(re.escape(part.strip()) for part in pattern.split("...")), text.strip()) is not None


def test_ctrl_c_is_as_in_the_guide(terminal: AtTerminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YARD", str(Path.cwd()))
    pty = terminal("run", f"{YARD}:deploy", "Ship it", "--id", "ship-1")
    reached("healthy")
    pty.see("wait_healthy")
    pty.interrupt()
    pty.see("it will pause")
    pty.see("pausing…")
    pty.interrupt()
    pty.see("The list of undos is saved")
    Path("healthy").touch()
    assert pty.end() == 4
    shown, wanted = screen(pty.text), block("guides/command-line.md", "text ctrl-c")
    missing = [line for line in wanted if not any(fits(line, one) for one in shown)]
    assert not missing, "\n".join([*missing, "is not in", *shown])
    assert not any("─────" in line for line in shown), "what changes is gone in the end"


@pytest.mark.parametrize("name", [name for name in LEAVES if name != "demo"])
def test_the_reference_has_the_command_and_all_its_options(name: str) -> None:
    text = (DOCS / "reference/command-line.md").read_text("utf-8")
    section: Any = re.search(rf"^### `adjourn {name}\b.*?(?=^##|\Z)", text, re.DOTALL | re.MULTILINE)
    assert section, f"docs/reference/command-line.md has no section `adjourn {name}`"
    everywhere = {"--json", "--db", "--tenant", "--by", "--help"}
    options = {option for p in LEAVES[name].params for option in p.opts if option.startswith("--")} - everywhere
    missing = {option for option in options if f"`{option}" not in section[0]}
    assert not missing, f"`adjourn {name}` has {sorted(missing)}"


def test_the_reference_has_no_command_that_is_gone() -> None:
    text = (DOCS / "reference/command-line.md").read_text("utf-8")
    listed = re.findall(r"^### `adjourn ([a-z]+(?: [a-z-]+)?)\b", text, re.MULTILINE)
    assert set(listed) <= set(LEAVES)
