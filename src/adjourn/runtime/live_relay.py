"""Live items across processes: what the runs of this one say is carried by the store's channel, and
what it brings is heard here."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

import msgspec

from adjourn.driver.live_feed import Feed, Live, Published, TextArrived
from adjourn.stores.protocol import Store
from adjourn.stores.run_row import is_saying

_decode = msgspec.json.Decoder(TextArrived | Published).decode
_encode = msgspec.json.Encoder().encode


class LiveText:
    """This process's feed at one end of a channel."""

    def __init__(self, store: Store, feed: Feed) -> None:
        self._feed = feed
        self._channel = store.channel(self)
        feed.tap = self._said

    def _said(self, item: Live) -> None:
        if is_saying(item.run_id):  # what is encrypted is written nowhere else
            return
        self._channel.send(
            item.run_id,
            partial(_line, item),
            in_whole=isinstance(item, TextArrived) and not item.thinking,
        )

    def so_far(self, run: str) -> Sequence[str]:
        """See `Ears.so_far`."""
        return [_line(item) for item in self._feed.so_far(run)]

    def hear(self, line: str) -> None:
        """See `Ears.hear`."""
        self._feed.hear(_decode(line))

    def follow(self, run: str) -> AbstractAsyncContextManager[None]:
        """While inside, what the run says in another process reaches the local feed."""
        return self._channel.follow(run)

    async def forget(self, run: str) -> bool:
        """The run was erased: nothing that it said is kept any more. False: somebody who reads
        holds a part of it."""
        return await self._channel.forget(run)

    async def close(self) -> None:
        """Stop carrying."""
        self._feed.tap = None
        await self._channel.close()


def _line(item: Live) -> str:
    return _encode(item).decode()
