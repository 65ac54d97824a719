"""How many files this process may have open; connections are files, too."""

from contextlib import suppress

UNLIMITED = 2**31


def files_allowed() -> tuple[int, int]:
    """How many may be open now, and how many if the process asks for more; `UNLIMITED` where the
    system has no such limit."""
    try:
        import resource
    except ImportError:  # Windows
        return UNLIMITED, UNLIMITED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _number(soft), _number(hard)


def allow_files(wanted: int) -> int:
    """Raise the limit to `wanted`, as far as the system lets us; how many may be open afterwards.
    It is never lowered."""
    soft, hard = files_allowed()
    if soft >= wanted:
        return soft
    import resource

    with suppress(ValueError, OSError):
        resource.setrlimit(
            resource.RLIMIT_NOFILE,
            (min(wanted, hard), resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
        )
    return files_allowed()[0]


def _number(limit: int) -> int:
    if 0 <= limit < UNLIMITED:
        return limit
    return UNLIMITED
