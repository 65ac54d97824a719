"""The audit as a file. Who took it is a line of the security log, written before they have it."""

from typing import Any

import msgspec

from adjourn.server.api.audit import AUDITED, check_admin, wanted_lines
from adjourn.server.api_request import ApiRequest, operation
from adjourn.server.schemas import Schema, ref, thing
from adjourn.views.api_answers import AuditExport
from adjourn.views.audit_entry import AuditEntry, csv_of, entries

EXPORTED: dict[str, Schema] = {
    name: schema for name, schema in AUDITED.items() if name not in ("after", "limit")
}

MOST = 50_000
"""Lines in one file."""
PAGE = 500


@operation(
    "POST /audit/export",
    "read",
    ref(AuditExport),
    body=thing(("format",), format={"enum": ["ndjson", "csv"]}, **EXPORTED),
)
async def export_audit(c: ApiRequest) -> Any:
    """Selected lines as a file; the export is recorded in the security log.

    Newest first; at most `MOST`.
    """
    security = c.body.get("security", False)
    if security:
        check_admin(c)
    wanted = wanted_lines(c.body)
    found: list[AuditEntry] = []
    before = ""
    while len(found) < MOST:
        rows = await c.rt.store.recent(before, PAGE, security=security, wanted=wanted)
        found += await entries(c.rt.store, rows)
        if len(rows) < PAGE:
            break
        before = found[-1].cursor
    said = [
        f"{name.removesuffix('_id')} {c.body[name]}"
        for name in AUDITED
        if name in c.body and name != "security"
    ]
    if len(found) == 1:
        about = "1 line of the"
    else:
        about = f"{len(found)} lines of the"
    if security:
        about += " security log"
    else:
        about += " audit"
    if said:
        about += f", {', '.join(said)}"
    await c.rt.store.note(
        [
            {
                "verb": "export",
                "by": c.who.name,
                "from": c.app.origin_of(c.request),
                "about": about[:400],
            }
        ]
    )
    return AuditExport(
        text=_text(found, c.body["format"]),
        lines=len(found),
        complete=len(found) < MOST,
    )


def _text(found: list[AuditEntry], format: str) -> str:
    if format == "csv":
        return csv_of(found)
    return "".join(f"{msgspec.json.encode(entry).decode()}\n" for entry in found)
