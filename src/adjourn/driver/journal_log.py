"""What was recorded, as lines of a log: which record, of which step, and how long it took. Nothing of
what it says: arguments, results, texts and errors stand in the journal only."""

import logging
from collections.abc import Iterable

from adjourn.core.records import Asked, Broke, Intended, Record, Replied, Returned, Summarised

log = logging.getLogger("adjourn.journal")


def log_records(run: str, program: str, records: Iterable[Record]) -> None:
    """One line for each, if anybody reads them.

    Args:
        run: the run.
        program: its agent or flow.
        records: what has landed.
    """
    if not log.isEnabledFor(logging.INFO):
        return
    for record in records:
        tag = str(record.__struct_config__.tag)
        given = {"run_id": run, "agent": program, "record": tag, **_of(record)}
        log.info("run %s: %s", run, tag, extra={"fields": given})


def _of(record: Record) -> dict[str, str | float | int]:
    found: dict[str, str | float | int] = {}
    if step := getattr(record, "call", "") or getattr(record, "step", ""):
        found["step"] = step
    match record:
        case Intended():
            found.update(tool=record.tool, attempt=record.attempt)
        case Asked():
            found["kind"] = record.kind
            if record.tool:
                found["tool"] = record.tool
        case Returned():
            found.update(took=record.took, ok=int(not record.error))
        case Replied() | Broke() | Summarised():
            used = record.usage
            found.update(took=record.took, path=record.path)
            found.update(input_tokens=used.input_tokens, output_tokens=used.output_tokens)
        case _:
            pass
    return found
