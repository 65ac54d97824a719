"""The options that commands share."""

import getpass
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjourn.cli.completion import complete_items, complete_programs, complete_runs
from adjourn.errors import Invalid

if TYPE_CHECKING:
    from adjourn.stores.audit_key import AuditKey


def option(metavar: str, help: str, *names: str) -> Any:
    """An option whose default says nothing to a person.

    Args:
        metavar: what stands for its value.
        help: what it does.
        names: its names; none: that of the parameter.
    """
    return typer.Option(*names, metavar=metavar, help=help, show_default=False)


Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="PATH",
        help="The database: a file, or an address such as postgresql://host/database.",
        envvar="ADJOURN_DB",
        show_envvar=True,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="NAME",
        help="Your name; with a signing key, the key's name.",
        show_default="your user name here",
    ),
]
StatusFilter = Annotated[
    str, typer.Option("--status", help="Only runs with this status.", show_default=False)
]
AgentFilter = Annotated[
    str, typer.Option("--agent", help="Only runs of this agent or flow.", show_default=False)
]
Reason = Annotated[str, option("TEXT", "Why; it is recorded.", "--reason")]
Note = Annotated[str, option("TEXT", "A comment; it is recorded.", "--note")]
Group = Annotated[
    list[str] | None,
    option("NAME", "A group of yours; with a signing key, the key's groups.", "--group"),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask; the id must be complete.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only print what would happen; nothing is changed.")
]
Wait = Annotated[
    float | None,
    typer.Option(
        "--wait",
        metavar="SECONDS",
        min=0,
        help="Wait up to SECONDS for the run to stop; then the exit code says how: "
        "0 done, 1 failed, 3 waiting for a person or still running, 4 cancelled.",
    ),
]
RequestId = Annotated[
    str, option("ID", "A repeated id returns the recorded result.", "--request-id")
]
Resources = Annotated[str, option("APP.PY:DICT", "Live objects for tools.")]
SigningKeyFile = Annotated[
    str,
    option(
        "FILE",
        "Sign decisions with this key (`adjourn keys new`); workers with --deciders require it.",
        "--signing-key",
    ),
]
DecidersFile = Annotated[
    str,
    option(
        "FILE",
        "File of public keys, one per line: only decisions signed by one of them count.",
        "--deciders",
    ),
]
Digest = Annotated[
    str, option("HEX", "The digest of what you saw; if it has changed, the decision is refused.")
]
RunId = Annotated[
    str,
    typer.Argument(metavar="RUN", help="Run id or a unique prefix.", autocompletion=complete_runs),
]
InterruptId = Annotated[
    str,
    typer.Argument(
        metavar="ITEM",
        help="A number of `adjourn inbox`, an interrupt's ref or id, RUN/CALL, or RUN.",
        autocompletion=complete_items,
    ),
]
InterruptIds = Annotated[
    list[str],
    typer.Argument(
        metavar="ITEM...",
        help="One or several: numbers of `adjourn inbox`, refs or ids of interrupts, RUN/CALL, or RUN.",
        autocompletion=complete_items,
    ),
]
Program = Annotated[
    str,
    typer.Argument(
        metavar="APP.PY:NAME",
        help="A file or module, and its agent or flow.",
        autocompletion=complete_programs,
    ),
]

LogFormat = Annotated[
    str,
    typer.Option(
        "--log-format",
        metavar="FORMAT",
        help="Log format: text, or json: one object per line, with run, step and worker.",
        envvar="ADJOURN_LOG_FORMAT",
        show_envvar=True,
    ),
]
LogLevel = Annotated[
    str,
    typer.Option(
        "--log-level",
        metavar="LEVEL",
        help="Log level: debug, info, warning, error.",
        envvar="ADJOURN_LOG_LEVEL",
        show_envvar=True,
        show_default="warning; info with --log-format json",
    ),
]


AuditKeyFile = Annotated[
    str,
    option(
        "FILE",
        "Private key that signs the seals of the audit; without it, ADJOURN_AUDIT_SECRET, if set.",
        "--audit-key",
    ),
]


def sealing_key(file: str) -> "list[AuditKey] | None":
    """What signs the seals: the key of `--audit-key`, which must be a private one; None: what the
    environment says."""
    if not file:
        return None
    from adjourn.cli.extras import needs
    from adjourn.stores.audit_key import audit_keys

    with needs("signing"):
        keys = audit_keys(file)
    if not any(key.can_sign for key in keys):
        raise Invalid(
            f"{file!r} has only public keys, which cannot sign",
            advice="give the private key, or remove --audit-key",
        )
    return list(keys)


def who(by: str | None) -> str:
    """`--by`, or the name of the user of this machine."""
    if by:
        return by
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        if hasattr(os, "getuid"):
            return f"uid {os.getuid()}"
        return "unknown"
