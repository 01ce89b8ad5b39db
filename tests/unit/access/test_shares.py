"""Tests how keys share the memory for long bodies. The head of a request names its key, before the body is read."""

from __future__ import annotations

import pytest

from penstock.access.authentication import (
    UNKNOWN_CALLERS,
    AccessRule,
    Api,
    Key,
    RequireCredentials,
    hash_secret,
    make_access_rule,
)
from penstock.access.failures import MOST_FAILURES
from penstock.access.users import build_user
from penstock.effects import Call
from penstock.errors import (
    AccessDenied,
    AwsError,
    IncompleteSignature,
    InvalidClientTokenId,
    MissingAuthenticationToken,
    RequestThrottled,
)
from penstock.http import HttpRequest
from penstock.settings import Settings
from tests.support.conformance.access_keys import SIGV4

KNOWN, UNKNOWN, BEARER = "PSTKAAAAAAAAAAAAAAAA", "PSTKBBBBBBBBBBBBBBBB", "PSTBAAAAAAAAAAAAAAAA"
SIGNED = "AWS4-HMAC-SHA256 Credential={}/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=" + "0" * 64
PRESIGNED = (
    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={}%2F20260101%2Fus-east-1%2Fsqs%2Faws4_request"
    "&X-Amz-Date=20260101T000000Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Signature=" + "0" * 64
)
LINK = "Action=ConfirmSubscription&Token=x"


def make_rule() -> AccessRule:
    """Returns the rule of sigv4, whose process has found two keys."""
    rule = make_access_rule(Settings.read({**SIGV4, "DATABASE_URL": "postgresql://localhost/x"}))
    assert rule is not None
    user = build_user("000000000000", None, None)
    for cache, key_id, secret in (("_access_keys", KNOWN, b"s"), ("_bearer_keys", BEARER, hash_secret("s"))):
        getattr(rule, cache)._known[key_id] = (float("inf"), Key(user, secret, None))
    return rule


def find(rule: AccessRule, api: Api, header: str, query: str = "", address: str = "192.0.2.1") -> str | None:
    """Returns the name of a request's caller. The database has no key."""
    headers = {b"host": b"h", b"x-amz-date": b"20260101T000000Z"}
    if header:
        headers[b"authorization"] = header.encode()
    operation = rule.find_caller(HttpRequest("POST", "/", query.encode(), headers, b"", ""), api, address)
    try:
        effect = next(operation)
        while True:
            assert isinstance(effect, Call)
            effect = operation.send([])
    except StopIteration as end:
        caller: str | None = end.value
        return caller


@pytest.mark.parametrize(
    ("api", "header", "query", "caller"),
    [
        (Api.AWS, SIGNED.format(KNOWN), "", KNOWN),
        (Api.AWS, "", PRESIGNED.format(KNOWN), KNOWN),
        (Api.AWS, SIGNED.format(UNKNOWN), "", InvalidClientTokenId),
        (Api.AWS, "", PRESIGNED.format(UNKNOWN), InvalidClientTokenId),
        (Api.AWS, "Bearer x", "", IncompleteSignature),
        (Api.AWS, "", "", MissingAuthenticationToken),
        (Api.AWS, "", LINK, UNKNOWN_CALLERS),
        (Api.REST, f"Bearer {BEARER}.s", "", BEARER),
        (Api.REST, f"bearer {BEARER}.s", "", BEARER),
        (Api.REST, f"Bearer {BEARER}.other", "", InvalidClientTokenId),
        (Api.REST, f"Bearer {UNKNOWN}.s", "", InvalidClientTokenId),
        (Api.REST, SIGNED.format(KNOWN), "", InvalidClientTokenId),
        (Api.REST, "", "", MissingAuthenticationToken),
        (Api.OTHER, f"Bearer {BEARER}.s", "", BEARER),
        (Api.OTHER, f"Bearer {UNKNOWN}.s", "", UNKNOWN_CALLERS),
        (Api.OTHER, "x" * 9_000, "", UNKNOWN_CALLERS),
        (Api.OTHER, "", "", UNKNOWN_CALLERS),
    ],
)
def test_the_head_names_a_key_or_is_refused(api: Api, header: str, query: str, caller: str | type[AwsError]) -> None:
    if isinstance(caller, str):
        assert find(make_rule(), api, header, query) == caller
    else:
        with pytest.raises(caller):
            find(make_rule(), api, header, query)


def test_an_address_with_many_unknown_keys_delays_neither_others_nor_keys_in_use() -> None:
    rule = make_rule()
    for n in range(MOST_FAILURES + 1):
        with pytest.raises(InvalidClientTokenId):
            find(rule, Api.AWS, SIGNED.format(f"PSTK{n:016}"))
    with pytest.raises(RequestThrottled):
        find(rule, Api.AWS, SIGNED.format(UNKNOWN))
    assert find(rule, Api.AWS, SIGNED.format(KNOWN)) == KNOWN
    with pytest.raises(InvalidClientTokenId):  # it was looked up
        find(rule, Api.AWS, SIGNED.format(UNKNOWN), address="192.0.2.2")


@pytest.mark.parametrize(
    ("api", "error"), [(Api.AWS, MissingAuthenticationToken), (Api.REST, AccessDenied), (Api.OTHER, None)]
)
def test_with_presence_the_address_counts(api: Api, error: type[AwsError] | None) -> None:
    rule = RequireCredentials()
    assert find(rule, api, SIGNED.format(UNKNOWN)) is None
    if error is None:
        assert find(rule, api, "") is None
    else:
        with pytest.raises(error):
            find(rule, api, "")
