"""What a process keeps of runs beside their journals is kept apart by store: two that are open in it may each have a run of
the same id."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "adjourn"
CONTAINERS = {
    "dict", "set", "list", "deque", "defaultdict", "OrderedDict", "Counter", "WeakKeyDictionary", "WeakValueDictionary", "WeakSet",
}  # fmt: skip
APART = {"LocatedRun", "LocatedCall"}
"""What says of which store a run is."""

KEPT = {
    "bodies/compensations.py:_registered": "by store, run and call",
    "driver/unfinished_bodies.py:_threads": "by store, run and call",
    "driver/unfinished_bodies.py:_left": "by store, run and call",
    "driver/unfinished_bodies.py:_unread": "by store, run and call",
    "agent/cost_limits.py:_told": "by store and run",
    "stores/run_row.py:_saying": "by run, and in it by the salt of the run, which is random",
    "driver/located_run.py:_homes": "by the store itself",
    "driver/late_results.py:_recording": "tasks; none is looked up",
    "driver/process_identity.py:_workers": "names of workers, which are random",
    "flow/flow_context.py:_warned": "flow, chunk and event, none of a run",
    "guests/pydantic_ai_durability.py:_counts": "by the context of one body",
    "models/pydantic_ai/provider.py:_open": "by event loop, and the model's name",
    "runtime/checkpoint.py:_said": "a word that is said once",
    "runtime/upgraders.py:_upgraders": "by program",
    "stores/run_keys.py:ciphers": "by a digest of the run's salt, which is random",
    "stores/run_row.py:open_stores": "the stores themselves",
    "cli/terminal/ctrl_c.py:_before": "what Ctrl-C did before",
    "cli/terminal/console.py:_instead": "who prints in its place",
}
"""What is kept for as long as the process lives, and by what."""


def kept() -> Iterator[tuple[str, ast.expr | None]]:
    """Every container outside of functions that may grow: its place, and its type."""
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        plain = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.bases]
        for node in (*tree.body, *(inner for each in plain for inner in each.body)):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                name, kind, value = node.target.id, node.annotation, node.value
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name, kind, value = node.targets[0].id, None, node.value
            else:
                continue
            if not name.isupper() and is_empty(value):
                yield f"{path.relative_to(PACKAGE).as_posix()}:{name}", kind


def is_empty(value: ast.expr | None) -> bool:
    """Whether it begins as an empty container, to be filled."""
    if isinstance(value, ast.Dict | ast.List):
        return not (value.keys if isinstance(value, ast.Dict) else value.elts)
    if not isinstance(value, ast.Call):
        return False
    made = value.func.value if isinstance(value.func, ast.Subscript) else value.func
    return isinstance(made, ast.Name) and made.id in CONTAINERS and not value.args


def test_whatever_is_kept_for_the_whole_process_is_named_with_its_key() -> None:
    assert {place for place, _ in kept()} == set(KEPT)


def test_what_is_kept_by_run_is_kept_by_store() -> None:
    by_store = {place for place, said in KEPT.items() if said.startswith("by store")}
    found = {
        place: {n.id for n in ast.walk(kind) if isinstance(n, ast.Name)} for place, kind in kept() if kind is not None
    }
    assert {place for place in by_store if not APART & found.get(place, set())} == set()
    assert by_store == {place for place, names in found.items() if APART & names}
