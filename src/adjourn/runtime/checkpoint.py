"""A checkpoint as users hold it: a run's journal, sealed."""

import hashlib
import logging
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from adjourn.core.codec import encode
from adjourn.core.envelope import Beside, seal, unseal
from adjourn.core.interrupt import Interrupt
from adjourn.core.messages import Message
from adjourn.core.record_codec import dump, parse_list
from adjourn.core.records import AnyRecord, Started
from adjourn.core.state import State
from adjourn.core.transcript import Transcript
from adjourn.core.usage import Usage
from adjourn.errors import CheckpointInvalid, InvalidDefinition, bare
from adjourn.runtime.packed_journal import PackedJournal

if TYPE_CHECKING:
    from adjourn.core.rebuilt_requests import SentRequest

log = logging.getLogger("adjourn.checkpoint")

SECRET = "ADJOURN_SECRET"
KEY_BYTES = 32
_MAKE = "make one with `openssl rand -hex 32`"
_said: set[str] = set()
"""What this process has said once and need not say again."""


def key_ring(secret: str | None = None) -> tuple[bytes, ...]:
    """The keys of `secret`, or of the environment, read now: comma-separated; the first signs, all
    verify.

    No keys only if neither is set: a secret that is empty, or a key that is short, is
    `InvalidDefinition`.
    """
    name, text = "secret=", secret
    if secret is None:
        name, text = SECRET, os.environ.get(SECRET)
    if text is None:
        return ()
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidDefinition(f"secret= must be a string, got {type(text).__name__}: {_MAKE}")
    keys = tuple(key.strip().encode() for key in text.split(",") if key.strip())
    if not keys:
        raise InvalidDefinition(
            f"{name} is set, but empty",
            consequence="nothing would be signed or verified",
            advice=f"give it a key ({_MAKE}), or do not set it",
        )
    if short := [len(key) for key in keys if len(key) < KEY_BYTES]:
        raise InvalidDefinition(
            f"{name} has a key of {short[0]} bytes, and a key must have at least {KEY_BYTES}",
            advice=_MAKE,
        )
    return keys


class Checkpoint:
    """A run as data: it waits for weeks at no cost and continues in another process. `to_json()`
    has all of it.

    Args:
        records: the journal.
        secret: signs it; without one, `ADJOURN_SECRET`.
        before: the turns before it, for a conversation.
        files: the bytes of the files that the run and those turns refer to, by their SHA-256.
        key: the id of the key of its run, if that is encrypted.
    """

    def __init__(
        self,
        records: "Sequence[AnyRecord] | PackedJournal",
        *,
        secret: str | None = None,
        before: Transcript | None = None,
        files: Mapping[str, bytes] | None = None,
        key: str = "",
    ) -> None:
        self.key = key
        self._journal = records if isinstance(records, PackedJournal) else tuple(records)
        self.before = before
        self.files: dict[str, bytes] = dict(files or {})
        self._secret = secret

    @classmethod
    def from_json(
        cls, data: "str | bytes | Mapping[str, Any] | Checkpoint", *, secret: str | None = None
    ) -> "Checkpoint":
        """Read a checkpoint. It is verified first; raises `CheckpointInvalid`, and `KeyMissing` for one
        that is sealed with a key that no open store has.

        Args:
            data: its JSON as `str` or `bytes`, or the parsed dict.
            secret: verifies the signature; without one, `ADJOURN_SECRET`.
        """
        if isinstance(data, Checkpoint):
            return data
        if not isinstance(data, str | bytes | Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise CheckpointInvalid(
                (
                    f"a checkpoint must be its JSON string, the parsed dict or a Checkpoint, "
                    f"got {type(data).__name__}"
                ),
                "json",
                advice="pass its .checkpoint" if hasattr(data, "checkpoint") else "",
            )
        from adjourn.runtime.sealed_checkpoint import opened_text

        opened = unseal(opened_text(data), key_ring(secret))
        envelope, before = opened.envelope, Transcript(opened.before) if opened.before else None
        checkpoint = cls(opened.records, secret=secret, before=before, files=opened.files)
        try:
            status = checkpoint.status
        except Exception as e:  # whatever a forged journal makes the fold stumble over
            raise CheckpointInvalid(
                f"the checkpoint's records are not a valid run: {e}", "records"
            ) from None
        if status != envelope.status:
            raise CheckpointInvalid(
                f"the checkpoint has status {envelope.status!r:.40}, but its records have {status!r}",
                "records",
            )
        return checkpoint

    def to_json(self, *, sealed: bool = False) -> str:
        """The checkpoint as text: for Redis, S3, a table, a file. Signed if a secret is set.

        Args:
            sealed: encrypted with the key of its run, which must have one. It can be read where the
                store of the run is open, until the run is erased there.
        """
        s = self.started
        fields = {
            "run_id": s.run,
            "program": s.program,
            "kind": s.kind,
            "session": s.session,
            "seq": self.seq,
            "status": self.status,
            "fingerprint": encode(self.state.fingerprint).decode(),
        }
        beside = Beside(self._said_before(), self.files)
        text = seal(fields, self.records, key_ring(self._secret), beside)
        if sealed:
            from adjourn.runtime.sealed_checkpoint import sealed_text

            return sealed_text(text, s.run, self.key)
        return text

    @property
    def records(self) -> tuple[AnyRecord, ...]:
        """The journal."""
        if isinstance(self._journal, PackedJournal):
            self._journal = tuple(parse_list(self._journal.text))
        return self._journal

    @cached_property
    def state(self) -> State:
        """The fold of its records. Don't change it; fold the records again instead."""
        return State(before=self.before).fold_all(enumerate(self.records, 1))

    def _said_before(self) -> Sequence[Message]:
        """What its first record only names: so that a checkpoint is whole by itself."""
        if self.started.before is None:
            return ()
        if self.before is None:
            raise CheckpointInvalid(
                f"run {bare(self.run_id)} continues another run, whose conversation is not available here",
                "records",
            )
        return self.before

    def by_itself(self) -> "Checkpoint":
        """The same run with the turns before it in its own first record: for a place that does not
        have those turns."""
        before = self._said_before()
        if not before:
            return self
        first = msgspec.structs.replace(self.started, history=msgspec.to_builtins(tuple(before)))
        return Checkpoint([first, *self.records[1:]], secret=self._secret, files=self.files)

    @property
    def started(self) -> Started:
        """The first record."""
        first = self.records[0]
        assert isinstance(first, Started)
        return first

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.started.run

    @property
    def session(self) -> str:
        """The session it was started in, or ""."""
        return self.started.session

    @property
    def status(self) -> str:
        """The run's status when the checkpoint was taken."""
        if self.state.status:
            return self.state.status.value
        return ""

    @property
    def seq(self) -> int:
        """How many records it has."""
        return len(self.records)

    @property
    def head(self) -> bytes:
        """The hash that its journal's chain ends in."""
        head = b""
        for record in self.records:
            head = hashlib.sha256(head + dump(record).encode()).digest()
        return head

    @property
    def input(self) -> Any:
        """What the run was started with."""
        return self.started.input

    @property
    def interrupts(self) -> list[Interrupt]:
        """What it waits for."""
        return self.state.interrupts

    @property
    def messages(self) -> list[Message]:
        """The conversation so far."""
        return self.state.messages

    @property
    def requests(self) -> "list[SentRequest]":
        """The exact request of every model call so far; see `Run.requests`."""
        from adjourn.core.rebuilt_requests import requests

        return list(requests(enumerate(self.records, 1), self.before))

    @property
    def usage(self) -> Usage:
        """Tokens and cost so far."""
        return self.state.usage

    def __repr__(self) -> str:
        return f"Checkpoint(run_id={self.run_id!r}, status={self.status!r}, seq={self.seq})"


Saved = Checkpoint | str | bytes | Mapping[str, Any]
"""A checkpoint as people have it: itself, its JSON text, or that text parsed."""


def taken_over(data: Saved, *, secret: str | None = None) -> Checkpoint:
    """`Checkpoint.from_json`, to go on with it. That it is not signed is said once per process."""
    saved = Checkpoint.from_json(data, secret=secret)
    if not isinstance(data, Checkpoint) and not key_ring(secret) and "unsigned" not in _said:
        _said.add("unsigned")
        log.warning(
            "the checkpoint of run %s is not signed: anyone who can write to the storage of "
            "checkpoints can change a run, and approve calls in another person's name; set %s "
            "(this is logged once)",
            saved.run_id,
            SECRET,
        )
    return saved
