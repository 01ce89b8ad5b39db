"""Serves certificates of the keys that sign SNS messages. Programs that verify messages need no credentials."""

import re

from penstock.effects import Call, Operation
from penstock.http import HttpResponse
from penstock.postgres.statements.access import FIND_CERTIFICATE

CURRENT = ("/SimpleNotificationService.pem", "/v1/cert")
NOT_FOUND = HttpResponse(404, [(b"content-type", b"text/plain")], b"There is no such certificate.\n")

_NAMED = re.compile(r"/SimpleNotificationService-([^/]*)\.pem").fullmatch
_KEY_ID = re.compile(r"[0-9a-f]{32}").fullmatch


def is_certificate(method: str, path: str) -> bool:
    """Returns whether the request is for a certificate. This function does not check whether the certificate exists."""
    return method == "GET" and path.endswith((".pem", "/cert")) and (path in CURRENT or _NAMED(path) is not None)


def find_certificate(path: str) -> Operation[HttpResponse]:
    """Returns the certificate in PEM.

    The response is 404 for an unknown key, and for a key that was retired more than 30 days ago.
    """
    named = _NAMED(path)
    if named is not None and not _KEY_ID(named[1]):
        return NOT_FOUND
    rows = yield from Call(FIND_CERTIFICATE, (None if named is None else named[1],))
    if not rows:
        return NOT_FOUND
    (row,) = rows
    return HttpResponse(200, [(b"content-type", b"application/x-pem-file")], row.certificate.encode())
