"""Links in SNS messages, which all recipients may follow unsigned (ConfirmSubscription, Unsubscribe, API reference).

A program that follows one gets AWS's answer. Browsers follow links that nobody has read, such as those of other pages
and of mail, so they get a page with a button first.
"""

import re

from penstock.http import HttpRequest

PUBLIC_ACTIONS = frozenset(("ConfirmSubscription", "Unsubscribe"))
# What java.net.URL says that it accepts; many endpoints visit SubscribeURL by it, and it is no browser.
JAVA = b"text/html, image/gif, image/jpeg"
LONGEST_FORM = 4_096  # an ARN, a token and their names need no more

_PUBLIC_LINK = re.compile(
    rb"(?:.*&)?Action=(?:%s)(?:&.*)?" % b"|".join(name.encode() for name in sorted(PUBLIC_ACTIONS))
).fullmatch


def is_public_link(http: HttpRequest) -> bool:
    """Whether a request without credentials follows such a link, or does the same by a form, as SDKs do.

    It may still be for another action, if it names several: `authentication.run_public_link` sees which one counts.
    """
    if b"authorization" in http.headers or b"X-Amz-" in http.query or b"x-amz-target" in http.headers:
        return False
    if _PUBLIC_LINK(http.query) is not None:
        return True
    return http.method == "POST" and len(http.body) <= LONGEST_FORM and _PUBLIC_LINK(http.body) is not None


def is_followed_in_browser(http: HttpRequest) -> bool:
    """Whether somebody follows such a link in a browser."""
    if http.method != "GET":
        return False
    accept = http.headers.get(b"accept", b"")
    return b"text/html" in accept and not accept.startswith(JAVA) and is_public_link(http)
