"""The HTTP API and the console: translation only, over the runtime's verbs. Needs
`adjourn[server]`."""

from adjourn.server.app import create_app, lifespan
from adjourn.server.authentication import Guard
from adjourn.server.identity import Identity
from adjourn.server.notifications.sender import NotificationSender, add_chat, add_webhook
from adjourn.server.notifications.sender import Postman as Postman  # its name of before
from adjourn.server.oidc import OidcSettings
from adjourn.server.running_server import RunningServer, serve, serving
from adjourn.server.running_server import Serving as Serving  # its name of before
from adjourn.server.users import Key, User, Users, users_path

__all__ = [
    "create_app",
    "lifespan",
    "serve",
    "serving",
    "RunningServer",
    "Guard",
    "Identity",
    "OidcSettings",
    "Key",
    "User",
    "Users",
    "users_path",
    "NotificationSender",
    "add_webhook",
    "add_chat",
]
