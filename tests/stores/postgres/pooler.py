"""PgBouncer before a server of these tests: it shares three connections among all, by transaction."""

import os
import shutil
import signal
from urllib.parse import quote

from tests.local_server import LocalServer, skip_without
from tests.stores.postgres.server import PostgresServer, account

CONNECTIONS = 3
SETTINGS = """\
[databases]
* = host=127.0.0.1 port={server} user=adjourn

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {connections}
max_client_conn = 200
"""


class Pooler(LocalServer):
    """From `with` to the end of it."""

    ends_by = signal.SIGTERM

    def __init__(self, server: PostgresServer) -> None:
        super().__init__("adjourn-pooler-")
        self._server = server

    def start(self) -> None:
        """Start it, and wait until it answers."""
        user = account()
        file = self.folder / "settings"
        text = SETTINGS.format(server=self._server.port, port=self.port, connections=CONNECTIONS)
        file.write_text(text)
        for each in (self.folder, file):
            if user is not None:
                shutil.chown(each, user)
        self.launched(program(), file, user=user)
        self.wait_for(self.port)

    def address(self, direct: str, *, listen: bool) -> str:
        """The way to a database of the server through this; `listen`: with a way around it for announcements."""
        found = f"postgresql://adjourn@127.0.0.1:{self.port}/{direct.rpartition('/')[2]}"
        if listen:
            found += f"?listen={quote(direct, safe='')}"
        return found


def program() -> str:
    """PgBouncer; without it a test is skipped, and fails in CI."""
    found = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        skip_without("PgBouncer", "tests/stores/postgres/install.sh installs it on Debian")
    return found
