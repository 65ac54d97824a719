"""The engine that a command names: its options, and what they mean."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjourn.cli.extras import needs
from adjourn.errors import InvalidDefinition
from adjourn.runtime.runtime import Runtime

if TYPE_CHECKING:
    from adjourn.engines.engine import Engine

STORE, RESTATE, TEMPORAL = "store", "restate", "temporal"
KINDS = (STORE, RESTATE, TEMPORAL)


def _option(metavar: str, help: str, name: str) -> Any:
    return typer.Option(
        f"--{name}",
        metavar=metavar,
        help=help,
        envvar=f"ADJOURN_{name.upper().replace('-', '_')}",
        show_envvar=True,
        show_default=False,
    )


EngineKind = Annotated[
    str,
    _option("|".join(KINDS), "Engine that wakes runs; without it, only the store.", "engine"),
]
EngineAddress = Annotated[
    str,
    _option(
        "ADDRESS",
        "The engine's server: HOST:PORT of Temporal, the ingress of Restate.",
        "engine-address",
    ),
]
EngineQueue = Annotated[
    str,
    _option(
        "NAME", "Task queue in Temporal, service in Restate: one for each database.", "engine-queue"
    ),
]
EngineBuild = Annotated[
    str, _option("ID", "Version of this worker, for Temporal's worker versioning.", "engine-build")
]
EngineAdmin = Annotated[str, _option("URL", "Restate's admin API.", "engine-admin")]
EngineListen = Annotated[
    str, _option("HOST:PORT", "Address on which this worker listens for Restate.", "engine-listen")
]
EngineUrl = Annotated[
    str, _option("URL", "Address at which Restate reaches this worker, if different.", "engine-url")
]


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """What says when a run is advanced.

    Attributes:
        engine: an engine that is not open yet; None: the store alone.
        slots: how many runs at the same time.
        ends_wakes: whether no engine is to be told of this store's runs any more.
    """

    engine: "Engine | None" = None
    slots: int = 100
    ends_wakes: bool = False

    @property
    def through(self) -> str:
        """For a sentence that says who advances what."""
        if self.engine is None:
            return ""
        return f" through {self.engine.name}"

    @asynccontextmanager
    async def host(self, runtime: Runtime, works: bool = True) -> AsyncGenerator[None]:
        """The engine at work with a runtime that is open, while inside.

        Args:
            runtime: the runtime.
            works: False: it hands over wakes and advances nothing.
        """
        from adjourn.engines.engine_host import BY, EngineHost

        if self.ends_wakes:
            await runtime.store.waking(False, by=BY, origin=runtime.origin)
        if self.engine is None:
            yield
            return
        async with EngineHost(runtime, self.engine, slots=self.slots, works=works):
            yield


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What was said about the engine."""

    kind: str = ""
    address: str = ""
    queue: str = ""
    build: str = ""
    admin: str = ""
    listen: str = ""
    url: str = ""

    @classmethod
    def from_environment(cls) -> "EngineOptions":
        """What the variables say that the options have."""
        said: dict[str, str] = {}
        for field in fields(cls):
            variable = "ADJOURN_ENGINE"
            if field.name != "kind":
                variable = f"{variable}_{field.name.upper()}"
            said[field.name] = os.environ.get(variable, "")
        return cls(**said)

    def choice(self, slots: int = 100) -> EngineChoice:
        """What they mean. Raises `InvalidDefinition` for an engine that there is not, and
        `NotInstalled` if its extra is missing.

        Args:
            slots: how many runs at the same time.
        """
        if self.kind == TEMPORAL:
            return EngineChoice(self._temporal(), slots)
        if self.kind == RESTATE:
            return EngineChoice(self._restate(), slots)
        if self.kind in ("", STORE):
            return EngineChoice(ends_wakes=self.kind == STORE)
        raise InvalidDefinition(
            f"unknown engine {self.kind!r:.80}", advice=f"use one of {', '.join(KINDS)}"
        )

    def _temporal(self) -> "Engine":
        with needs(TEMPORAL):
            from adjourn.engines.temporal import QUEUE, TemporalEngine
        return TemporalEngine(self.address, queue=self.queue or QUEUE, build=self.build)

    def _restate(self) -> "Engine":
        with needs(RESTATE):
            from adjourn.engines.restate import SERVICE, RestateEngine
        return RestateEngine(
            self.address,
            admin=self.admin,
            listen=self.listen,
            url=self.url,
            service=self.queue or SERVICE,
        )
