"""Recognises the links in SNS messages that recipients can open without a signature (ConfirmSubscription, Unsubscribe,
API reference).

A program that opens a link receives AWS's response. A browser first receives a page with a button, because browsers can
open links without the user's intent.
"""

import re

from penstock.aws.codec.protocol import SMITHY_PROTOCOL
from penstock.http import HttpRequest

PUBLIC_ACTIONS = frozenset(("sns:ConfirmSubscription", "sns:Unsubscribe"))
# The Accept header of java.net.URL. Many subscribers open SubscribeURL with java.net.URL, which is not a browser.
JAVA = b"text/html, image/gif, image/jpeg"
MAX_FORM_LENGTH = 4_096  # fits an ARN, a token and the parameter names

_PUBLIC_LINK = re.compile(
    rb"(?:.*&)?Action=(?:%s)(?:&.*)?" % b"|".join(label.partition(":")[2].encode() for label in sorted(PUBLIC_ACTIONS))
).fullmatch


def is_public_link(http: HttpRequest) -> bool:
    """Returns whether a request without credentials opens a link from an SNS message, or sends the link's action as a
    form, as SDKs do.

    A link that names several actions needs a second check, in `authentication.run_public_link`.
    """
    if b"authorization" in http.headers or b"X-Amz-" in http.query or b"x-amz-target" in http.headers:
        return False
    if SMITHY_PROTOCOL in http.headers:
        return False
    if _PUBLIC_LINK(http.query) is not None:
        return True
    return http.method == "POST" and len(http.body) <= MAX_FORM_LENGTH and _PUBLIC_LINK(http.body) is not None


def is_followed_in_browser(http: HttpRequest) -> bool:
    if http.method != "GET":
        return False
    accept = http.headers.get(b"accept", b"")
    return b"text/html" in accept and not accept.startswith(JAVA) and is_public_link(http)
