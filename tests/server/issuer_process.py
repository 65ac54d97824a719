"""A real issuer of logins, in a process of its own: it prints its port, and ends with its standard input."""

import os
import sys
import threading
import warnings

warnings.simplefilter("ignore")

from oidc_provider_mock import User, app  # noqa: E402
from werkzeug.serving import make_server  # noqa: E402

PEOPLE = [
    User(sub="ana", claims={"email": "ana@example.com", "groups": ["admins", "leads"]}),
    User(sub="eve", claims={"email": "eve@example.com", "groups": ["strangers"]}),
]

if __name__ == "__main__":
    server = make_server("127.0.0.1", 0, app(user_claims=PEOPLE, require_nonce=True), threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    os._exit(0)
