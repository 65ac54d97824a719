"""What the log says of a server that may not be written to: a standby, perhaps about to be promoted."""

import logging
import threading

import psycopg

from adjourn.stores.postgres.connections import PROMOTE, STANDBY

log = logging.getLogger("adjourn.store")

READ_ONLY = "this server is a standby, or read-only: nothing can be written to it"


class StandbyNotice:
    """Says it once, and once more when that is over; what was to be written is tried again meanwhile."""

    def __init__(self, where: str) -> None:
        self.where = where
        self._is_on, self._lock = False, threading.Lock()

    def heed(self, error: psycopg.Error) -> bool:
        """Whether this is what a server says that may not be written to."""
        if error.sqlstate != STANDBY:
            return False
        with self._lock:
            was_on, self._is_on = self._is_on, True
        if not was_on:
            text = "%s: %s; %s. Trying again until it can be written"
            log.error(text, self.where, READ_ONLY, PROMOTE)
        return True

    def end(self) -> None:
        """Something was written."""
        if self._is_on:
            self._is_on = False
            log.warning("%s: it is writable again", self.where)
