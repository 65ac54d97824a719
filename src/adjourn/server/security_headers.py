"""The headers of every response by which a browser protects the console."""

from urllib.parse import urlsplit

from adjourn.server.authentication import Guard
from adjourn.server.request_checks import is_loopback

YEAR = 365 * 24 * 3600
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; "
    # each makes one address, whatever it is given: those of the two workers
    "trusted-types adjourn-stream adjourn-push"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Vary": "Origin, Cookie, Accept-Encoding",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


def transport_security(guard: Guard, host: str) -> dict[str, str]:
    """The HSTS header: a browser that has seen a public name by https uses nothing else for it. A
    loopback name has other servers, too."""
    name = urlsplit(f"//{host}").hostname or ""
    if not guard.is_encrypted(host) or is_loopback(name):
        return {}
    return {"Strict-Transport-Security": f"max-age={YEAR}"}
