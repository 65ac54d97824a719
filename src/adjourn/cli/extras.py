"""What comes with an extra of the package: said by name if it is not installed."""

from collections.abc import Generator
from contextlib import contextmanager

from adjourn.errors import Invalid


class NotInstalled(Invalid):
    """A command needs an extra that is not installed."""

    def __init__(self, extra: str, module: str) -> None:
        super().__init__(
            f"this needs adjourn[{extra}] ({module} is missing); install it: pip install "
            f"'adjourn[{extra}]'"
        )


@contextmanager
def needs(extra: str) -> Generator[None]:
    """Around imports of modules that only an extra brings; raises `NotInstalled`."""
    try:
        yield
    except ModuleNotFoundError as e:
        module = e.name or ""
        if module.split(".")[0] == "adjourn":
            raise
        raise NotInstalled(extra, module) from None
