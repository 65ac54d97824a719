"""What only its owner should read is closed to everybody else, also what was made before."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from adjourn.stores.private_file import PARTS, make_private, tighten

pytestmark = pytest.mark.skipif(os.name != "posix", reason="rights of files are those of POSIX")


@pytest.fixture(autouse=True)
def _careless() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_closed_whatever_the_umask(tmp_path: Path) -> None:
    make_private(str(tmp_path / "a"))
    assert mode(tmp_path / "a") == 0o600


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("before", [0o644, 0o666, 0o640, 0o777, 0o400])
def test_a_file_that_is_there_is_closed_and_nothing_is_opened(tmp_path: Path, part: str, before: int) -> None:
    path = tmp_path / f"a{part}"
    path.write_bytes(b"x")
    path.chmod(before)
    tighten(str(tmp_path / "a"))
    assert mode(path) == before & 0o600
    assert path.read_bytes() == b"x"


@pytest.mark.parametrize(
    ("like", "made"), [(0o600, 0o600), (0o640, 0o640), (0o660, 0o660), (0o666, 0o660), (0o644, 0o640)]
)
def test_beside_a_file_of_a_group_the_group_may_and_others_never(tmp_path: Path, like: int, made: int) -> None:
    (tmp_path / "db").touch()
    (tmp_path / "db").chmod(like)
    make_private(str(tmp_path / "new"), str(tmp_path / "db"))
    (tmp_path / "old").touch()
    (tmp_path / "old").chmod(0o666)
    make_private(str(tmp_path / "old"), str(tmp_path / "db"))
    assert (mode(tmp_path / "new"), mode(tmp_path / "old")) == (made, made)


def test_what_is_not_there_is_not_made_by_tightening(tmp_path: Path) -> None:
    tighten(str(tmp_path / "a"))
    assert list(tmp_path.iterdir()) == []
