"""The page for a browser that opens a SubscribeURL or an UnsubscribeURL. The page's button performs the link's action.

The form posts to the page's address, whose query string contains all parameters.
"""

from base64 import b64encode
from hashlib import sha256

from penstock.aws.codec.xml import escape_text

from .types import ConfirmSubscriptionRequest, UnsubscribeRequest

CONTENT_TYPE = b"text/html; charset=utf-8"

_STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:45rem;margin:3rem auto;padding:0 1rem}"
    "code{overflow-wrap:anywhere}button{font:inherit;padding:.4rem 1.2rem}:root{color-scheme:light dark}"
)


def _build_policy() -> bytes:
    """Returns a Content-Security-Policy that limits the page's resources, the form's target, and the pages that can
    frame it."""
    style = b64encode(sha256(_STYLE.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ).encode()


def build_headers() -> list[tuple[bytes, bytes]]:
    """Returns the page's headers. The headers prevent the token in the page's address from reaching other sites."""
    return [
        (b"content-security-policy", _build_policy()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"same-origin"),
        (b"cache-control", b"no-store"),
    ]


def page(request: object) -> bytes:
    """Returns the page for a ConfirmSubscriptionRequest or an UnsubscribeRequest."""
    if isinstance(request, ConfirmSubscriptionRequest):
        return _page("Confirm this subscription?", "Topic", request.topic_arn, "Confirm")
    if isinstance(request, UnsubscribeRequest):
        return _page("End this subscription?", "Subscription", request.subscription_arn or "", "Unsubscribe")
    raise TypeError(f"no page for {type(request).__name__}")


def _page(title: str, what: str, arn: str, button: str) -> bytes:
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><style>{_STYLE}</style></head>
<body><h1>{title}</h1><p>{what}: <code>{escape_text(arn)}</code></p>
<form method="post"><button>{button}</button></form></body></html>
""".encode()
