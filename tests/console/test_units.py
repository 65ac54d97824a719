"""The console's pure modules, by their own tests: what hides is shown as on the command line, forms keep types, JSON loses nothing."""

import json
import os
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest
from tests import hostile, posing

from adjourn.core import ids
from adjourn.core.halt import scope_parts
from adjourn.stores.audit import SECURITY
from adjourn.views.confusable_characters import CUT, LOOK_ALIKES
from adjourn.views.typescript import modules
from adjourn.views.visible import hidden, shown, visible

CONSOLE = Path(__file__).parents[2] / "console"
NODE = shutil.which("node")
MORE = [
    "", "refund", "Δt and µm", "pаypal.com Привет", "Grüße 東京 😀 e\u0301\u0301\u0301\u0301\u0301", "\u0301leading mark", "a\tb\r\nc",
    "⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩", "ｆｕｌｌｗｉｄｔｈ and fｕll", "𝐛old and b𝐨ld", "x\u2800\u3164y", "\ue000 \U000f0000 \u0378",
    "ⅷ x²ⅸа",
    "".join(map(chr, range(0x20))), "".join(map(chr, range(0x7F, 0xB0))), "".join(map(chr, range(0x2000, 0x2070))), "aԚաꓮᏴⲟϲ ӀI",
]  # fmt: skip


def table() -> list[dict[str, object]]:
    """What the table says, whatever the implementations do."""
    cases: list[dict[str, object]] = [{"text": text, "visible": text, "hidden": 0} for text in posing.ORDINARY]
    for text, marked in posing.MARKED.items():
        left, seen = list(marked), ""
        for char in text:
            seen += shown(left.pop(0)) if left and left[0] == char else char
        assert not left, text
        cases.append({"text": text, "visible": seen, "hidden": len(marked)})
    return cases


def inside_names() -> list[str]:
    """Every character that has another form, and every look-alike, inside a host; and beside one."""
    forms = [c for n in range(0xA1, 0x2FA1E) if unicodedata.normalize("NFKC", c := chr(n)) != c and c != CUT]
    return [text for c in [*forms, *LOOK_ALIKES] for text in (f"a{c}b.com", f"{c} c.com")]


def id_cases() -> list[dict[str, object]]:
    """What `core.ids` says about ids, for the console's module that reads them."""
    cases: list[dict[str, object]] = []

    def case(name: str, *of: str, is_: object) -> None:
        cases.append({"name": name, "of": of, "is": is_})

    turns = [(path, ids.turn_id(path, number)) for path in ("", "2.1", "sub#0/each#1[3]/ask#0") for number in (2, 12)]
    tools = [ids.tool_call_id(turn, number) for _, turn in turns for number in (0, 10)]
    places = {"pay": ids.activation_id("", "pay", 0), "if/ask": ids.activation_id("if#12/", "ask", 1)}
    batch = ids.activation_id("sub#0/", "batch", 2)
    places["sub/batch.left/pay"] = ids.activation_id(ids.branch_label(batch, "left"), "pay", 0)
    places["sub/batch/pay 2"] = ids.activation_id(ids.element_label(batch, 10), "pay 2", 0)
    for path, call in [*turns, *((ids.path_of(call), call) for call in (*tools, *places.values()))]:
        own = call.removeprefix(ids.label_of(path))
        case("labelOf", path, is_=ids.label_of(path))
        case("ancestors", call, is_=list(ids.ancestors(call)))
        for one in (call, ids.undo_id(call), ids.compensation_id(call, 0)):
            case("ownPart", one, is_=own)
    for call in (*tools, *(ids.undo_id(call) for call in tools)):
        for _, turn in turns:
            asked_by = ids.undo_target(call) in (ids.tool_call_id(turn, 0), ids.tool_call_id(turn, 10))
            case("isCallOf", call, turn, is_=asked_by)
            case("isCallOf", ids.tool_call_id(ids.turn_id(call, 1), 0), turn, is_=False)
    for place, call in places.items():
        case("placeOf", call, is_=place)
        case("branchLabel", place, "left", is_=ids.branch_label(place, "left"))
        case("localOf", "r1", ids.ref_of("r1", ids.question_id(call, 0)), is_=ids.question_id(call, 0))
    case("localOf", "r1", ids.ref_of("r1", "model:?0"), is_=ids.local_of("r1", "r1:model:?0"))
    for run in ("r1", "a@b", "K7QX-2M4T-9RWC-HB3D"):
        of, record = ids.parse_fork(ids.fork_id(run, 17))
        case("forkOf", ids.fork_id(run, 17), is_={"run": of, "record": record})
        case("isRun", run, is_=True)
    case("isRun", SECURITY, is_=False)
    case("isRun", "", is_=False)
    for machine in ("laptop", "laptop/0f3a", "a/b/c"):
        case("hostOf", machine, is_=ids.WorkerId.parse(f"{machine}|1||x").host)
    for scope in ("*", "agent:refunds", "tool:a:b"):
        kind, name = scope_parts(scope)
        case("scopeParts", scope, is_={"kind": kind, "name": name})
    return cases


@pytest.mark.parametrize("case", table(), ids=lambda case: case["text"])
def test_the_command_line_marks_what_the_table_says(case: dict[str, object]) -> None:
    assert visible(str(case["text"])) == case["visible"]
    assert hidden(str(case["text"])) == case["hidden"]


def test_in_a_host_everything_that_has_another_form_is_marked() -> None:
    """But for signs that end a name, as their ASCII form does."""
    ends = set(" !\"$'()*,;<>[]^`{|}")
    for text in inside_names():
        if text.endswith("b.com") and unicodedata.normalize("NFKC", text[1])[0] not in ends:
            assert text[1] not in visible(text), text


@pytest.mark.skipif(not NODE, reason="needs node")
@pytest.mark.skipif(
    not (CONSOLE / "node_modules" / "esbuild").is_dir(), reason="needs the console's packages: make console"
)
def test_the_units_of_the_console(tmp_path: Path) -> None:
    for name, text in modules().items():
        (CONSOLE / "src" / "generated").mkdir(exist_ok=True)
        (CONSOLE / "src" / "generated" / name).write_text(text, "utf-8")
    texts = [*MORE, *hostile.STRINGS.values(), *inside_names()]
    expected = tmp_path / "visible.json"
    cases = [{"text": text, "visible": visible(text), "hidden": hidden(text)} for text in texts] + table()
    expected.write_text(json.dumps(cases), "utf-8")
    written = tmp_path / "ids.json"
    written.write_text(json.dumps(id_cases()), "utf-8")
    done = subprocess.run(
        [NODE or "", "test/run.mjs"], cwd=CONSOLE, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "ADJOURN_VISIBLE": str(expected), "ADJOURN_IDS": str(written)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "# skipped 0" in done.stdout
