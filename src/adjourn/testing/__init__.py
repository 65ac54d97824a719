"""What tests of agents and of stores need: a model that follows a script, time that can be skipped,
the stores' contract."""

from typing import TYPE_CHECKING, Any

from adjourn.testing.crash_points import CrashPoint, crash_points
from adjourn.testing.env import Env, env
from adjourn.testing.fake_clock import FakeClock
from adjourn.testing.faults import Fault, Faulty
from adjourn.testing.guest_script import GuestReply, GuestScript
from adjourn.testing.oracle import CheckedStore, check_rows, every_transaction
from adjourn.testing.oracle import Watched as Watched  # its name of before
from adjourn.testing.scripted import ScriptedModel, call, streamed

if TYPE_CHECKING:
    from adjourn.testing.guest_contract import GuestContract
    from adjourn.testing.store_contract import StoreContract

__all__ = [
    # models and time
    "ScriptedModel",
    "call",
    "streamed",
    "FakeClock",
    "Env",
    "env",
    "CrashPoint",
    "crash_points",
    # stores
    "GuestContract",
    "GuestReply",
    "GuestScript",
    "StoreContract",
    "CheckedStore",
    "check_rows",
    "every_transaction",
    "Fault",
    "Faulty",
]


def __getattr__(name: str) -> Any:
    if name == "StoreContract":  # needs pytest, which a demo has not
        from adjourn.testing.store_contract import StoreContract

        return StoreContract
    if name == "GuestContract":
        from adjourn.testing.guest_contract import GuestContract

        return GuestContract
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
