"""What the models of a run were sent."""

import asyncio
from itertools import islice
from typing import Any

from adjourn.core.rebuilt_requests import requests
from adjourn.errors import NotFound
from adjourn.server.api.pages import page, whole
from adjourn.server.api_request import ApiRequest, operation
from adjourn.server.schemas import AT, LINES, many
from adjourn.views.api_answers import RequestView


@operation("GET /runs/{run_id}/requests", "read", many(RequestView), query={**LINES, "seq": AT})
async def list_requests(c: ApiRequest) -> Any:
    """The requests that its models were sent; with `seq`, one in full.

    A page of them is without the messages themselves.
    """
    limit, after, at = c.query.get("limit", 100), c.query.get("after", 0), c.query.get("seq")
    run = (await c.rt.store.get(c.path["run_id"])).id
    records = await c.rt.store.load(run)
    before = await c.rt.worker.earlier.of(records)

    def made() -> list[RequestView]:
        found = requests(records, before)
        if at is not None:
            return [RequestView.of(one, whole=True) for one in found if one.seq == at]
        later = (one for one in found if one.seq > after)
        return [RequestView.of(one, whole=False) for one in islice(later, limit)]

    items = await asyncio.to_thread(made)  # all of a long conversation is read and hashed
    if at is None:
        return page(items, limit, lambda item: item.seq)
    if not items:
        raise NotFound(f"record {at} of run {run!r} is not a model's reply")
    return whole(items)
