"""Who counts as dead and who as alive: certain only about this machine, and never because of time."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from adjourn.driver.process_identity import Life, here, is_dead, life_of, new_worker_id, retire


@pytest.fixture
def process() -> Iterator["subprocess.Popen[bytes]"]:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield child
    child.kill()
    child.communicate()


def named(pid: int, born: str | None = None) -> str:
    """The id of a worker in another process of this machine."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        began = f.read().rpartition(")")[2].split()[19]
    return f"{here()}{pid}|{began if born is None else born}|0123abcd"


def test_a_worker_of_a_process_that_runs_is_alive(process: "subprocess.Popen[bytes]") -> None:
    assert life_of(named(process.pid)) is Life.ALIVE


def test_a_worker_of_a_process_that_has_ended_is_dead(process: "subprocess.Popen[bytes]") -> None:
    worker = named(process.pid)
    process.kill()
    process.wait()
    assert life_of(worker) is Life.DEAD
    assert is_dead(worker)


def test_a_worker_that_nobody_has_reaped_is_dead(process: "subprocess.Popen[bytes]") -> None:
    worker = named(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert life_of(worker) is Life.DEAD


def test_a_pid_that_is_used_again_does_not_keep_its_first_owner_alive(process: "subprocess.Popen[bytes]") -> None:
    assert life_of(named(process.pid, born="1")) is Life.DEAD


def test_a_stopped_process_is_neither_dead_nor_alive(process: "subprocess.Popen[bytes]") -> None:
    worker = named(process.pid)
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    assert life_of(worker) is Life.UNKNOWN
    process.send_signal(signal.SIGCONT)
    os.waitid(os.P_PID, process.pid, os.WCONTINUED | os.WNOWAIT)
    assert life_of(worker) is Life.ALIVE


@pytest.mark.parametrize("worker", ["", "w1", "elsewhere/boot/1|1|2|3", "elsewhere/boot/1|x", f"{here()}x|1|2"])
def test_nothing_is_certain_about_workers_elsewhere(worker: str) -> None:
    assert life_of(worker) is Life.UNKNOWN
    assert not is_dead(worker)


def test_a_worker_of_this_process_is_alive_until_it_is_closed() -> None:
    one, two = new_worker_id(), new_worker_id()
    assert one != two
    assert (life_of(one), life_of(two)) == (Life.ALIVE, Life.ALIVE)
    retire(one)
    assert (life_of(one), life_of(two)) == (Life.UNKNOWN, Life.ALIVE)
    retire(two)
