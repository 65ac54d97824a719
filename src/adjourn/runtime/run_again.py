"""Run again: how a run begins that begins as another one began."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from adjourn.core.files import attached
from adjourn.core.records import AGAIN_OF, AnyRecord, Forked, Started
from adjourn.core.requesters import requesters
from adjourn.errors import NotFound
from adjourn.runtime.definition import Definition

_OF_ITS_PLACE = ("after", "queue")
"""Options that say where in its session a run stood: the new one stands elsewhere."""


def known_program(programs: Mapping[str, Definition[Any]], name: str) -> Definition[Any]:
    """The program of this name; raises `NotFound`, naming those that are known here.

    Args:
        programs: those that are known here, by name.
        name: the name of an agent or a flow.
    """
    program = programs.get(name)
    if program is None:
        known = ", ".join(map(repr, programs)) or "none"
        raise NotFound(
            f"this process has no program {name!r:.80}",
            consequence="nothing was started",
            advice=f"it has {known}",
        )
    return program


def begun_again(
    records: Sequence[AnyRecord], program: Definition[Any], files: Mapping[str, bytes]
) -> Started:
    """The first record of a run that begins as the run with these records did: the same input,
    labels and conversation before it, with the program as it is now. `files`: those of that run.

    Everyone who shaped that beginning has shaped this one, too: no one approves what they asked
    for because another person has run it again.
    """
    first = records[0]
    assert isinstance(first, Started)
    shaped = requesters(record for record in records if isinstance(record, Started | Forked))
    options = {name: said for name, said in first.options.items() if name not in _OF_ITS_PLACE}
    return msgspec.structs.replace(
        first,
        at=0.0,
        input=attached(first.input, files),
        history=attached(first.history, files),
        fingerprint=program.fingerprint,
        graph=program.blueprint,
        forked_from="",
        options={**options, AGAIN_OF: first.run},
        requesters=tuple(sorted(shaped)),
    )
