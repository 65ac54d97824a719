"""The options of `adjourn serve` for login by OpenID Connect."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adjourn.cli.extras import needs
from adjourn.cli.options import option
from adjourn.errors import Invalid

if TYPE_CHECKING:
    from adjourn.server.oidc import OidcSettings

SECRET = "ADJOURN_OIDC_SECRET"
"""The variable with the client's secret."""

Issuer = Annotated[
    str, option("URL", "Issuer of logins by OpenID Connect; needs adjourn[oidc].", "--oidc-issuer")
]
ClientId = Annotated[
    str, option("ID", "Client id of this server at the issuer.", "--oidc-client-id")
]
ClientSecret = Annotated[
    str,
    option("FILE", f"File with the client's secret; or set {SECRET}.", "--oidc-secret-file"),
]
OidcRoles = Annotated[
    list[str] | None,
    option(
        "GROUP=ROLE",
        "Rights of a group: a role, or 'approver of agent:refunds'; may be repeated.",
        "--oidc-role",
    ),
]
Claims = Annotated[
    str,
    option("NAME,GROUPS", "Claims with a person's name and with their groups.", "--oidc-claims"),
]


@dataclass(frozen=True, slots=True)
class OidcOptions:
    """What was written on the command line."""

    issuer: str
    client_id: str
    secret_file: str
    roles: list[str] | None
    claims: str

    def settings(self) -> "OidcSettings | None":
        """How people log in by OpenID Connect; None without an issuer. The secret is in a file or in
        the environment: others can read a command line."""
        if not self.issuer:
            if self.secret_file or self.roles or self.client_id:
                raise Invalid("login by OpenID Connect needs --oidc-issuer")
            return None
        with needs("server"):
            from adjourn.server.oidc import OidcSettings
        name, found, groups = self.claims.partition(",")
        if not name or not found or not groups:
            raise Invalid(f"--oidc-claims must be NAME,GROUPS, got {self.claims!r:.80}")
        return OidcSettings(
            self.issuer,
            self.client_id,
            self._secret(),
            self._pairs(),
            name_claim=name,
            groups_claim=groups,
        )

    def _pairs(self) -> tuple[tuple[str, str], ...]:
        pairs: list[tuple[str, str]] = []
        for text in self.roles or []:
            group, found, right = text.partition("=")
            if not group or not found:
                raise Invalid(f"--oidc-role must be GROUP=ROLE, got {text!r:.80}")
            pairs.append((group, right))
        return tuple(pairs)

    def _secret(self) -> str:
        if not self.secret_file:
            return os.environ.get(SECRET, "")
        if not Path(self.secret_file).is_file():
            raise Invalid(f"file {self.secret_file!r} not found")
        return Path(self.secret_file).read_text("utf-8").strip()
