"""Defects in who may see and change what. The server is imported when one is planted: others need nothing of it."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tests.house.defect import Defect, rewrite

SCOPES = "tests/server/test_scopes.py::test_"
NOT_THERE = SCOPES + "a_run_without_the_right_is_like_one_that_is_not_there"


async def _anything(*_: Any) -> None:
    """Nothing is checked."""


def _rewriting(module: str, owner: str, name: str, old: str, new: str) -> Callable[[], None]:
    """Of a class of a module of the server, or of the module itself, if `owner` is empty."""

    def plant() -> None:
        found: Any = import_module(f"adjourn.server.{module}")
        if owner:
            found = getattr(found, owner)
        rewrite(found, name, old, new)

    return plant


def _unasked() -> None:
    app: Any = import_module("adjourn.server.app")
    app.check_reach = _anything


RIGHTS: dict[str, Defect] = {
    "any_label": Defect(
        "a grant is for runs with any labels",
        _rewriting("rights", "RoleGrant", "covers", "all(run.labels.get(name) == value for name, value in self.labels)", "True"),
        "tests/server/test_rights.py::test_who_has_a_right_on_a_run",
    ),
    "tenant_everywhere": Defect(
        "a tenant's admin is an admin of everything",
        _rewriting("identity", "Identity", "may_everywhere", "not self.tenant and ", ""),
        SCOPES + "a_tenant_s_runs_carry_its_label_and_nobody_else_s_can_be_started",
    ),
    "reach_unasked": Defect(
        "an operation on one run is for whoever has its right on any",
        _unasked,
        NOT_THERE,
    ),
    "lists_of_everything": Defect(
        "a list shows what its reader may not see",
        _rewriting("run_access", "", "_rows", 'if left and who.may_on("read", place_of(row)):', "if left:"),
        NOT_THERE,
    ),
    "stream_of_everything": Defect(
        "the stream about everything names interrupts that its reader may not see",
        _rewriting("run_access", "", "_visible_refs", ' and await has_right_on(app, who, "read", place[0])', ""),
        SCOPES + "a_stream_about_everything_is_about_what_one_may_see",
    ),
    "stream_outlives_rights": Defect(
        "a stream goes on with rights that were taken away",
        _rewriting("identity", "Identity", "has_rights_of", 'replace(self, csrf="") == replace(other, csrf="")', "self.name == other.name"),
        SCOPES + "a_stream_ends_when_rights_change[events]",
    ),
}  # fmt: skip
