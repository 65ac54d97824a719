"""The engine that a command names: what is wrong with it is said, and the store alone needs none."""

import sys

import pytest

from adjourn import Runtime
from adjourn.cli.doctor.engine_checks import engine
from adjourn.cli.engine_options import EngineOptions
from adjourn.cli.extras import NotInstalled
from adjourn.errors import InvalidDefinition
from adjourn.stores.memory import MemoryStore

MODULES = {"restate": "hypercorn", "temporal": "temporalio"}


def test_an_engine_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InvalidDefinition, match="unknown engine 'tempral'"):
        EngineOptions("tempral").choice()


@pytest.mark.parametrize("kind", MODULES)
def test_a_missing_extra_is_named(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, f"adjourn.engines.{kind}", raising=False)
    for name in [MODULES[kind], *(name for name in sys.modules if name.startswith(f"{MODULES[kind]}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(NotInstalled, match=rf"pip install 'adjourn\[{kind}\]'"):
        EngineOptions(kind).choice()


async def test_the_store_alone_ends_the_wakes_of_an_engine_only_if_it_is_named() -> None:
    async with Runtime(MemoryStore()) as rt:
        await rt.store.waking(True)
        async with EngineOptions("").choice().host(rt):
            assert await rt.store.waking()
        async with EngineOptions("store").choice().host(rt):
            assert not await rt.store.waking()


async def test_the_doctor_says_that_an_engine_is_told_of_runs_and_none_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ADJOURN_ENGINE", raising=False)
    async with Runtime(MemoryStore()) as rt:
        assert await engine(rt) == []
        await rt.store.waking(True)
        assert "ADJOURN_ENGINE is not set here" in (await engine(rt))[0].text
        monkeypatch.setenv("ADJOURN_ENGINE", "tempral")
        assert "unknown engine" in (await engine(rt))[0].text


def test_every_option_of_an_engine_has_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOURN_ENGINE", "restate")
    monkeypatch.setenv("ADJOURN_ENGINE_ADMIN", "http://a:1")
    found = EngineOptions.from_environment()
    assert (found.kind, found.admin, found.url) == ("restate", "http://a:1", "")
