"""What every rule may ask for and hardly ever changes: halts, endpoints, whether decisions are
signed, whether wakes are wanted.

It has a generation. Whoever changes a part of it holds the lock `HALTS` alone and gives it a new
one; everybody else shares that lock. So what is remembered is the truth as long as the generation
is the same.
"""

from typing import Any

import msgspec

from adjourn.stores.outbox import Endpoint
from adjourn.stores.protocol import Halt

READ = """
select extract(epoch from clock_timestamp())::float8, c.generation::text,
    coalesce((select m.value::bigint from adjourn.meta m where m.key = 'erasures'), 0),
    case when c.generation::text <> %(generation)s then json_build_object(
        'halts', (
            select coalesce(json_agg(json_build_object('scope', h.scope, 'by', h.by, 'reason', h.reason, 'at', h.at) order by h.at), '[]')
            from adjourn.halt h
        ),
        'endpoints', (
            select coalesce(json_agg(json_build_object('name', e.name, 'kind', e.kind, 'url', e.url, 'secret', e.secret,
                'topics', e.topics, 'at', e.at) order by e.name), '[]')
            from adjourn.endpoint e
        ),
        'signed', exists (select 1 from adjourn.meta m where m.key = 'signed'),
        'waking', exists (select 1 from adjourn.meta m where m.key = 'wakes')
    )::text end
from adjourn.config c
"""
RENEW = "update adjourn.config set generation = gen_random_uuid()"


class Config(msgspec.Struct, frozen=True):
    """One generation of it."""

    halts: tuple[Halt, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    signed: bool = False
    waking: bool = False
    generation: str = ""


_decoder = msgspec.json.Decoder(Config, strict=False)


def config_of(generation: str, text: str | None, known: Config) -> Config:
    """What a row of `READ` says; the text is None if it is what was known."""
    if text is None:
        return known
    return msgspec.structs.replace(_decoder.decode(text), generation=generation)


def taken(values: tuple[Any, ...], known: Config) -> tuple[float, Config, int]:
    """The database's time, the config, and how many runs were erased, from a row of `READ`."""
    now, generation, erasures, text = values
    return now, config_of(generation, text, known), erasures
