"""Somebody with write access to what a store keeps, who knows how it is made and has no key."""

import json
from typing import Any, Protocol

import msgspec

from adjourn.core.record_codec import parse
from adjourn.stores.audit import AuditLine, chain
from adjourn.stores.memory import MemoryStore
from adjourn.stores.outbox import Endpoint
from adjourn.stores.protocol import Halt
from adjourn.stores.seals import Seal, seal_hash
from adjourn.stores.sqlite.connection import connect


class Forger(Protocol):
    """What can be done to a store behind its back. Chains are computed again wherever they can be."""

    def delete_run(self, run: str) -> None: ...
    def drop_audit(self, scope: str) -> None: ...
    def cut_audit(self, scope: str, keep: int) -> None: ...
    def rewrite(self, run: str, old: str, new: str) -> None: ...
    def set_run(self, run: str, **fields: Any) -> None: ...
    def set_interrupt(self, run: str, i: str, **fields: Any) -> None: ...
    def lift(self, scope: str) -> None: ...
    def halt(self, halt: Halt) -> None: ...
    def put_endpoint(self, endpoint: Endpoint) -> None: ...
    def drop_endpoint(self, name: str) -> None: ...
    def seals(self) -> list[Seal]: ...
    def put_seals(self, seals: list[Seal]) -> None: ...
    def untouch(self, scope: str) -> None: ...


def rehashed(bodies: list[str], salt: bytes = b"") -> list[tuple[str, bytes]]:
    head, lines = salt, list[tuple[str, bytes]]()
    for body in bodies:
        head = chain(head, body)
        lines.append((body, head))
    return lines


def resealed(store: str, seals: list[Seal], without: str) -> list[Seal]:
    """The same seals without one scope, chained again, as whoever has no key can make them."""
    made: list[Seal] = []
    prev = b""
    for old in seals:
        body = json.dumps([x for x in json.loads(old.body) if x[0] != without], separators=(",", ":"))
        hash = seal_hash(store, old.k, old.at, prev, body)
        made.append(Seal(old.k, old.at, prev, body, hash))
        prev = hash
    return made


class FileForger:
    """With SQL."""

    def __init__(self, path: str) -> None:
        self._db: Any = connect(path)

    def _do(self, sql: str, *values: Any) -> list[Any]:
        return self._db.execute(sql, values).fetchall()

    def _n(self, run: str) -> int:
        return self._do("select n from run where id = ?", run)[0][0]

    def delete_run(self, run: str) -> None:
        n = self._n(run)
        for table in ("journal", "interrupt", "request"):
            self._do(f"delete from {table} where run = ?", n)
        self._do("delete from run where n = ?", n)
        self.drop_audit(run)

    def drop_audit(self, scope: str) -> None:
        for table in ("audit", "audit_head", "touched"):
            self._do(f"delete from {table} where scope = ?", scope)

    def cut_audit(self, scope: str, keep: int) -> None:
        self._do("delete from audit where scope = ? and n > ?", scope, keep)
        [(head,)] = self._do("select head from audit where scope = ? and n = ?", scope, keep)
        self._do("update audit_head set n = ?, head = ? where scope = ?", keep, head, scope)

    def rewrite(self, run: str, old: str, new: str) -> None:
        n = self._n(run)
        for table, group, number, key in (("audit", "scope", "n", run), ("journal", "run", "seq", n)):
            bodies = self._do(f"select body from {table} where {group} = ? order by {number}", key)
            salt = b"" if table == "audit" else self._do("select salt from run where n = ?", n)[0][0]
            lines = rehashed([body.replace(old, new) for (body,) in bodies], salt)
            for place, (body, head) in enumerate(lines, 1):
                self._do(
                    f"update {table} set body = ?, head = ? where {group} = ? and {number} = ?", body, head, key, place
                )
            head = lines[-1][1]
            if table == "audit":
                self._do("update audit_head set head = ? where scope = ?", head, run)
            else:
                self._do("update run set head = ? where n = ?", head, n)
        self._do(
            "update interrupt set by = replace(by, ?, ?), votes = replace(votes, ?, ?) where run = ?",
            old,
            new,
            old,
            new,
            n,
        )
        self._do("update run set requesters = replace(requesters, ?, ?) where n = ?", old, new, n)

    def set_run(self, run: str, **fields: Any) -> None:
        for name, value in fields.items():
            self._do(f"update run set {name} = ? where id = ?", value, run)

    def set_interrupt(self, run: str, i: str, **fields: Any) -> None:
        for name, value in fields.items():
            self._do(f"update interrupt set {name} = ? where run = ? and i = ?", value, self._n(run), i)

    def lift(self, scope: str) -> None:
        self._do("delete from halt where scope = ?", scope)

    def halt(self, halt: Halt) -> None:
        self._do("insert into halt values (?, ?, ?, ?)", halt.scope, halt.by, halt.reason, halt.at)

    def put_endpoint(self, endpoint: Endpoint) -> None:
        x = endpoint
        self._do(
            "insert or replace into endpoint values (?, ?, ?, ?, ?, ?)",
            x.name,
            x.kind,
            x.url,
            x.secret,
            "\n".join(x.topics),
            x.at,
        )

    def drop_endpoint(self, name: str) -> None:
        self._do("delete from endpoint where name = ?", name)

    def seals(self) -> list[Seal]:
        return [Seal(*row) for row in self._do("select k, at, prev, body, hash, kid, sig from seal order by k")]

    def put_seals(self, seals: list[Seal]) -> None:
        self._do("delete from seal")
        for seal in seals:
            self._do("insert into seal values (?, ?, ?, ?, ?, ?, ?)", *msgspec.structs.astuple(seal))

    def untouch(self, scope: str) -> None:
        self._do("delete from touched where scope = ?", scope)


class MemoryForger:
    """With the dicts."""

    def __init__(self, store: MemoryStore) -> None:
        self._s = store

    def delete_run(self, run: str) -> None:
        for kept in (self._s._runs, self._s._journals, self._s._interrupts):
            del kept[run]
        self.drop_audit(run)

    def drop_audit(self, scope: str) -> None:
        del self._s._audit[scope]
        self._s._touched.pop(scope, None)

    def cut_audit(self, scope: str, keep: int) -> None:
        del self._s._audit[scope][keep:]

    def rewrite(self, run: str, old: str, new: str) -> None:
        lines = rehashed([x.body.replace(old, new) for x in self._s._audit[run]])
        self._s._audit[run] = [AuditLine(run, n, body, head) for n, (body, head) in enumerate(lines, 1)]
        journal = rehashed([(body or "").replace(old, new) for body in self._s._journals[run]], self._s._runs[run].salt)
        self._s._journals[run] = [body for body, _ in journal]
        row = self._s._runs[run]
        row.head = journal[-1][1]
        row.requesters = tuple(name.replace(old, new) for name in row.requesters)
        for x in self._s._interrupts[run].values():
            x.by, x.votes = x.by.replace(old, new), {name.replace(old, new): seq for name, seq in x.votes.items()}
        assert all(parse(body or "") for body in self._s._journals[run])

    def set_run(self, run: str, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self._s._runs[run], name, value)

    def set_interrupt(self, run: str, i: str, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self._s._interrupts[run][i], name, value)

    def lift(self, scope: str) -> None:
        del self._s._halts[scope]

    def halt(self, halt: Halt) -> None:
        self._s._halts[halt.scope] = halt

    def put_endpoint(self, endpoint: Endpoint) -> None:
        self._s._endpoints[endpoint.name] = endpoint

    def drop_endpoint(self, name: str) -> None:
        del self._s._endpoints[name]

    def seals(self) -> list[Seal]:
        return list(self._s._seals)

    def put_seals(self, seals: list[Seal]) -> None:
        self._s._seals[:] = seals

    def untouch(self, scope: str) -> None:
        self._s._touched.pop(scope, None)
