"""What is known of the chain without being asked: the newest lines are checked, and when everything
was checked last."""

from typing import Any

from adjourn.server.api_request import ApiRequest, operation
from adjourn.server.problem import Problem
from adjourn.server.schemas import ref
from adjourn.stores.chain_tail import checked_tail
from adjourn.views.api_answers import VerificationView
from adjourn.views.chain_view import ChainView

TAIL = 200
"""Lines that are looked at whenever the audit is opened."""


@operation("GET /audit/chain", "read", ref(ChainView))
async def get_audit_chain(c: ApiRequest) -> Any:
    """Check the newest 200 lines, and say when everything was checked last."""
    found = await checked_tail(c.rt.store, TAIL)
    whole = c.app.verified
    return ChainView(
        lines=found.lines,
        complete=found.is_all,
        broken=tuple(str(place) for place in found.broken),
        at=c.rt.store.now(),
        whole_at=c.app.verified_at,
        whole_broken=whole.broken if whole else (),
        whole_says=whole.says if whole else "",
    )


@operation("GET /audit/verify", "admin", ref(VerificationView))
async def verify_audit(c: ApiRequest) -> Any:
    """Verify everything, and report what that proves.

    One at a time, because it reads everything.
    """
    if c.app.verifying.locked():
        raise Problem(
            429,
            "busy",
            "a verification is already running",
            {"Retry-After": "5"},
            advice="try again later",
        )
    async with c.app.verifying:
        at = c.rt.store.now()
        found = VerificationView.of(await c.rt.verification())
        c.app.verified, c.app.verified_at = found, at
        return found
