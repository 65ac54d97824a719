"""The HTTP API and the console: translation only, over the runtime's verbs. Needs `adjourn[server]`."""

from adjourn.server.app import create_app

__all__ = ["create_app"]
