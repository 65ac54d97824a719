"""What tests of agents and of stores need: a model that follows a script, time that can be skipped, the stores' contract."""

from typing import TYPE_CHECKING, Any

from adjourn.models.scripted import ScriptedModel, call, streamed
from adjourn.testing.clock import FakeClock
from adjourn.testing.crash import CrashPoint, crash_points
from adjourn.testing.env import Env, env
from adjourn.testing.faults import Fault, Faulty
from adjourn.testing.oracle import Watched, check_rows, every_transaction

if TYPE_CHECKING:
    from adjourn.testing.contract import StoreContract

__all__ = [
    # models and time
    "ScriptedModel", "call", "streamed", "FakeClock", "Env", "env", "CrashPoint", "crash_points",
    # stores
    "StoreContract", "Watched", "check_rows", "every_transaction", "Fault", "Faulty",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "StoreContract":  # needs pytest, which a demo has not
        from adjourn.testing.contract import StoreContract

        return StoreContract
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
