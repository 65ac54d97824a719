"""What `adjourn doctor` says of a PostgreSQL server: each check looks at one thing of its report."""

from adjourn.cli.doctor.finding import Finding, fine, look, wrong
from adjourn.cli.doctor.server_versions import too_old
from adjourn.cli.terminal.format import count, duration
from adjourn.cli.terminal.hints import command
from adjourn.stores.postgres.server_report import ServerReport

SKEW = 5.0
"""Seconds that the clocks of this machine and of the server may differ."""
LONG = 600.0
"""Seconds that a transaction may be open before old rows pile up behind it."""
ROOM = 24
"""Connections that should be free: two more processes."""
FROZEN = 1_500_000_000
"""Transactions after which the server must have frozen its rows: at two billion it stops."""


def server(report: ServerReport, db: str | None) -> list[Finding]:
    """Everything about the server and the way to it.

    Args:
        report: what it said.
        db: the database as the person named it.
    """
    found = [_version(report), _writable(report), _durable(report), _rights(report, db)]
    for check in (_pooler, _announcements, _clock, _text, _transactions, _vacuum, _connections):
        found.append(check(report))
    return found


def _version(report: ServerReport) -> Finding:
    major, minor = divmod(report.version, 10_000)
    said = f"{major}.{minor}"
    if (old := too_old("PostgreSQL", said, "server")) is not None:
        return old
    return fine("server", f"PostgreSQL {said}", version=report.version)


def _writable(report: ServerReport) -> Finding:
    if report.is_standby:
        text = "this server is a standby: nothing can be written"
        return wrong(
            "writable", text, "Name", "the primary server in the address, or promote this one"
        )
    if report.settings.get("default_transaction_read_only") == "on":
        text = "transactions are read-only here (default_transaction_read_only)"
        return wrong("writable", text, "Set it", "default_transaction_read_only = off")
    return fine("writable", "the primary server, writable")


def _durable(report: ServerReport) -> Finding:
    for name in ("fsync", "synchronous_commit"):
        if report.settings.get(name) == "off":
            text = f"{name} is off: after a crash of the server, calls that were made are unknown"
            return wrong("durable", text, "Set it", f"{name} = on")
    if report.settings.get("full_page_writes") == "off":
        text = "full_page_writes is off: a crash can leave torn pages"
        return look("durable", text, "Set it", "full_page_writes = on")
    standbys = report.synchronous_standbys
    if report.settings.get("synchronous_standby_names") and not standbys:
        text = "synchronous standbys are configured but none is connected: commits wait forever"
        return wrong("durable", text, "Start", "the standby, or empty synchronous_standby_names")
    if standbys:
        return fine("durable", f"commits wait for {count(standbys, 'synchronous standby')}")
    return fine("durable", "commits are on disk; a failover may lose the last ones")


def _rights(report: ServerReport, db: str | None) -> Finding:
    if report.open:
        text = f"every role of this server can change {report.open[0]}, and so approve anything"
        advice = ("Close it", "revoke all on all tables in schema adjourn from public")
        return wrong("rights", text, *advice, tables=list(report.open))
    if report.closed:
        text = f"this role may not write {', '.join(report.closed[:3])}"
        advice = ("Allow it", "grant all on all tables in schema adjourn to ROLE")
        return wrong("rights", text, *advice, tables=list(report.closed))
    if not report.has_trigrams:
        text = "the extension pg_trgm is missing, so text cannot be searched"
        return wrong("rights", text, "Create it", "create extension pg_trgm")
    if not report.may_create:
        text = "this role may not create a schema: upgrades need another role"
        return look("rights", text, "Upgrade as its owner", command(db, "db upgrade"))
    return fine("rights", "this role may write every table, and upgrade the schema")


def _pooler(report: ServerReport) -> Finding:
    if not report.pooled:
        return fine("pooler", "none: connections go to the server itself")
    if report.listens_elsewhere:
        return fine("pooler", "one; announcements bypass it")
    text = "there is a pooler, and the address names no way around it: notices take up to a second"
    return look("pooler", text, "Add", "?listen=ADDRESS of the server itself, to the address")


def _announcements(report: ServerReport) -> Finding:
    if report.is_standby:
        return fine("notify", "a standby carries no announcements (NOTIFY)")
    if report.heard is None:
        text = (
            "announcements (NOTIFY) do not arrive: notices from other processes take up to a second"
        )
        advice = ("Add", "?listen=ADDRESS of the server itself, to the address")
        return look("notify", text, *advice)
    return fine("notify", f"announcements arrive after {report.heard * 1000:.1f} ms")


def _clock(report: ServerReport) -> Finding:
    if abs(report.skew) > SKEW:
        where = "ahead of" if report.skew > 0 else "behind"
        text = f"this machine is {duration(abs(report.skew))} {where} the server"
        why = "start time synchronisation; leases are safe, but keys and sessions end too early or too late"
        return look("skew", text, "Fix", why, skew=report.skew)
    return fine("skew", f"this machine and the server differ by {abs(report.skew) * 1000:.0f} ms")


def _text(report: ServerReport) -> Finding:
    encoding = report.settings.get("server_encoding", "")
    if encoding != "UTF8":
        text = f"the database has the encoding {encoding}: not every text can be written"
        return wrong("text", text, "Make one", "create database NAME encoding 'UTF8'")
    said = f"UTF8, collation {report.collation}; the tables sort by bytes whatever that is"
    return fine("text", said)


def _transactions(report: ServerReport) -> Finding:
    if report.oldest_transaction > LONG:
        text = (
            f"a transaction of process {report.oldest_process} has been open for "
            f"{duration(report.oldest_transaction)}: old rows cannot be removed meanwhile"
        )
        return look(
            "transactions", text, "End it", f"select pg_terminate_backend({report.oldest_process})"
        )
    return fine("transactions", "no transaction has been open for long")


def _vacuum(report: ServerReport) -> Finding:
    if report.frozen_age > FROZEN:
        text = f"{report.frozen_age:,} transactions since rows were frozen: at two billion it stops"
        return wrong("vacuum", text, "Run now", "vacuum freeze")
    if report.settings.get("autovacuum") == "off":
        text = "autovacuum is off: the tables only grow"
        return look("vacuum", text, "Set it", "autovacuum = on")
    if report.dead:
        table, live, dead = report.dead[0]
        text = f"{table} has {dead:,} dead rows beside {live:,}: vacuum does not keep up"
        return look("vacuum", text, "Run", f"vacuum (analyze) adjourn.{table}")
    return fine("vacuum", "autovacuum is on and keeps up")


def _connections(report: ServerReport) -> Finding:
    free = report.free_connections
    most = report.settings.get("max_connections", "?")
    if free < ROOM:
        text = f"{count(max(0, free), 'connection')} of {most} free; a process needs up to 12"
        return look("connections", text, "Raise", "max_connections, or put a pooler in between")
    return fine("connections", f"{free:,} of {most} connections are free; a process needs up to 12")
