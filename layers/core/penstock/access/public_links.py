"""Links in SNS messages, which all recipients may follow unsigned (ConfirmSubscription, Unsubscribe, API reference).

A program that follows one gets AWS's answer. Browsers follow links that nobody has read, such as those of other pages
and of mail, so they get a page with a button first.
"""

import re

from penstock.http import HttpRequest

PUBLIC_ACTIONS = frozenset(("ConfirmSubscription", "Unsubscribe"))
# What java.net.URL says that it accepts; many endpoints visit SubscribeURL by it, and it is no browser.
JAVA = b"text/html, image/gif, image/jpeg"

_PUBLIC_LINK = re.compile(
    rb"(?:.*&)?Action=(?:%s)(?:&.*)?" % b"|".join(name.encode() for name in sorted(PUBLIC_ACTIONS))
).fullmatch


def is_public_link(http: HttpRequest) -> bool:
    """Whether a request without credentials follows such a link."""
    unsigned = b"authorization" not in http.headers and b"X-Amz-" not in http.query
    return unsigned and b"x-amz-target" not in http.headers and _PUBLIC_LINK(http.query) is not None


def is_followed_in_browser(http: HttpRequest) -> bool:
    """Whether somebody follows such a link in a browser."""
    if http.method != "GET":
        return False
    accept = http.headers.get(b"accept", b"")
    return b"text/html" in accept and not accept.startswith(JAVA) and is_public_link(http)
