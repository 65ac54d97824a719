"""The options that commands share."""

import getpass
import os
from typing import TYPE_CHECKING, Annotated

import typer

from adjourn.cli.completion import complete_items, complete_programs, complete_runs
from adjourn.errors import Invalid

if TYPE_CHECKING:
    from adjourn.stores.audit_key import AuditKey

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
Reason = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="Why; it is recorded.", show_default=False)
]
Note = Annotated[
    str,
    typer.Option("--note", metavar="TEXT", help="A comment; it is recorded.", show_default=False),
]
Group = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        metavar="NAME",
        help="A group of yours; with a signing key, the key's groups.",
        show_default=False,
    ),
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
    str,
    typer.Option(
        "--request-id",
        metavar="ID",
        help="The same id again returns the recorded result.",
        show_default=False,
    ),
]
Resources = Annotated[
    str,
    typer.Option(
        metavar="APP.PY:DICT", help="The live objects that tools need.", show_default=False
    ),
]
SigningKeyFile = Annotated[
    str,
    typer.Option(
        "--signing-key",
        metavar="FILE",
        help="Sign decisions with this key (`adjourn keys new`); workers with --deciders require it.",
        show_default=False,
    ),
]
DecidersFile = Annotated[
    str,
    typer.Option(
        "--deciders",
        metavar="FILE",
        help="File of public keys, one per line: only decisions signed by one of them count.",
        show_default=False,
    ),
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
Program = Annotated[
    str,
    typer.Argument(
        metavar="APP.PY:NAME",
        help="A file or module, and its agent or flow.",
        autocompletion=complete_programs,
    ),
]


AuditKeyFile = Annotated[
    str,
    typer.Option(
        "--audit-key",
        metavar="FILE",
        show_default=False,
        help="Private key that signs the seals of the audit; without it, ADJOURN_AUDIT_SECRET, if set.",
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
            f"{file!r} has public keys only, which cannot sign",
            advice="give the private one, or leave --audit-key out",
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
        return "somebody"
