"""Signed requests that were changed on the way, over the wire in both deployments: none is accepted, and none is read.

botocore signs them ("Create a signed AWS API request", IAM User Guide, is what it implements). A refusal must be one of
the errors of credentials, and the queue must hold what it held before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.support.conformance.access_keys import OWNER, PARTNER, SIGV4
from tests.support.conformance.database_clock import Clock
from tests.support.conformance.deployments import DEPLOYMENTS, Deployments
from tests.support.conformance.raw_requests import FORM
from tests.support.conformance.sqs import REGION, Sqs, read_refusal

Key = tuple[str, str]
Keys = dict[str, Key]
Headers = list[tuple[str, str]]

NOT_HTTP = "no request of HTTP"
CODES = {
    NOT_HTTP,
    "SignatureDoesNotMatch",
    "IncompleteSignature",
    "InvalidClientTokenId",
    "MissingAuthenticationToken",
}


class Request(NamedTuple):
    """A request as it goes over the wire; `target` is path and query string."""

    method: str
    target: str
    headers: Headers
    body: bytes

    def header(self, name: str) -> str:
        return next(value for key, value in self.headers if key.lower() == name)

    def with_header(self, name: str, given: str | None) -> Request:
        """With another value for a header, or without it (None)."""
        changed = [(key, given if key.lower() == name else value) for key, value in self.headers]
        return self._replace(headers=[(key, value) for key, value in changed if value is not None])


class Deployment(NamedTuple):
    """A connection to one deployment, where signatures are verified, and a queue of the owner of `keys[OWNER]`."""

    connection: HTTPConnection
    owner: Sqs
    url: str
    keys: Keys

    def send(self, request: Request) -> tuple[int, str]:
        """Status and error code, empty for none. Headers go out as they are, repeated ones too."""
        self.connection.putrequest(request.method, request.target, skip_host=True, skip_accept_encoding=True)
        for name, value in request.headers:
            self.connection.putheader(name, value)
        self.connection.putheader("Content-Length", str(len(request.body)))
        self.connection.endheaders(request.body)
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status < 400:
            return answer.status, ""
        headers = {name.lower(): value for name, value in answer.getheaders()}
        if headers["content-type"] == "application/json":  # the REST API: no path or method of SQS
            return answer.status, "MissingAuthenticationToken"
        if headers["content-type"].startswith(
            "text/plain"
        ):  # no request at all: two Host headers (RFC 9112, 3.2)
            return answer.status, NOT_HTTP
        protocol = "json" if "x-amzn-query-error" in headers else "query"
        return answer.status, read_refusal(protocol, answer.status, headers, body).code

    def signed(self, form: str, **changes: Any) -> Request:
        return FORMS[form](self, **changes)


@pytest.fixture(params=DEPLOYMENTS)
def deployment(
    request: pytest.FixtureRequest, deployments: Deployments, clock: Clock, keys: Keys
) -> Iterator[Deployment]:
    owner = Sqs(deployments, clock, request.param, "json").with_settings(SIGV4).with_key(*keys[OWNER])
    address = urlsplit(owner.endpoint_url)
    connection = HTTPConnection(address.netloc, timeout=30)
    try:
        yield Deployment(connection, owner, owner.create(), keys)
    finally:
        connection.close()


# --- what is signed --------------------------------------------------------------------------------------------------
def request_of(signed: AWSRequest, method: str, body: bytes) -> Request:
    address = urlsplit(signed.url)
    headers = [("Host", address.netloc), *((name, str(value)) for name, value in signed.headers.items())]
    return Request(method, f"{address.path}?{address.query}".rstrip("?"), headers, body)


def timed(kind: type[Any], *arguments: Any, seconds: float, **options: Any) -> Any:
    """A signer of botocore whose clock is so many seconds off."""

    class Shifted(kind):  # type: ignore[misc]
        def _modify_request_before_signing(self, request: Any) -> None:
            moment = datetime.now(UTC) + timedelta(seconds=seconds)
            request.context["timestamp"] = moment.strftime("%Y%m%dT%H%M%SZ")
            super()._modify_request_before_signing(request)

    return Shifted(*arguments, **options)


def by_json(
    deployment: Deployment,
    key: Key | None = None,
    service: str = "sqs",
    seconds: float = 0,
    body: bytes | None = None,
) -> Request:
    content = b'{"QueueUrl":"%s","MessageBody":"signed"}' % deployment.url.encode() if body is None else body
    headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.SendMessage"}
    unsigned = AWSRequest("POST", f"{deployment.owner.endpoint_url}/", headers=headers, data=content)
    timed(
        SigV4Auth, Credentials(*(key or deployment.keys[OWNER])), service, REGION, seconds=seconds
    ).add_auth(unsigned)
    return request_of(unsigned, "POST", content)


def by_form(
    deployment: Deployment,
    key: Key | None = None,
    service: str = "sqs",
    seconds: float = 0,
    body: bytes | None = None,
) -> Request:
    content = b"Action=SendMessage&MessageBody=signed" if body is None else body
    unsigned = AWSRequest("POST", deployment.url, headers={"Content-Type": FORM}, data=content)
    timed(
        SigV4Auth, Credentials(*(key or deployment.keys[OWNER])), service, REGION, seconds=seconds
    ).add_auth(unsigned)
    return request_of(unsigned, "POST", content)


def by_address(
    deployment: Deployment,
    key: Key | None = None,
    service: str = "sqs",
    seconds: float = 0,
    query: str | None = None,
) -> Request:
    asked = "Action=SendMessage&MessageBody=signed" if query is None else query
    unsigned = AWSRequest("GET", f"{deployment.url}?{asked}")
    credentials = Credentials(*(key or deployment.keys[OWNER]))
    timed(SigV4QueryAuth, credentials, service, REGION, seconds=seconds, expires=60).add_auth(unsigned)
    return request_of(unsigned, "GET", b"")


# Only these reach a function: API Gateway routes by method.
METHODS = {"container": ("GET", "PUT", "DELETE", "PATCH"), "lambda": ("GET",)}
FORMS: dict[str, Callable[..., Request]] = {"json": by_json, "form": by_form, "address": by_address}
HEADER_FORMS = ["json", "form"]


def assert_refused(deployment: Deployment, altered: list[Request]) -> None:
    """Every one, and nothing was stored."""
    outcomes = [(*deployment.send(request), request) for request in altered]
    assert [outcome for outcome in outcomes if outcome[0] not in (400, 403, 404, 405)] == []
    assert [outcome for outcome in outcomes if outcome[1] not in CODES] == []
    assert deployment.owner.counts(deployment.url) == (0, 0, 0)


@pytest.mark.parametrize("form", FORMS)
def test_unaltered_it_is_accepted(deployment: Deployment, form: str) -> None:
    """Else the tests below would show nothing."""
    assert deployment.send(deployment.signed(form)) == (200, "")
    assert deployment.owner.counts(deployment.url) == (1, 0, 0)


# --- the signature itself --------------------------------------------------------------------------------------------
def flipped(text: str) -> list[str]:
    """Each hexadecimal digit changed."""
    return [f"{text[:n]}{int(text[n], 16) ^ 1:x}{text[n + 1 :]}" for n in range(len(text))]


@pytest.mark.parametrize("form", HEADER_FORMS)
def test_the_authorization_header(deployment: Deployment, form: str) -> None:
    signed = deployment.signed(form)
    header = signed.header("authorization")
    signature = header.rpartition("=")[2]
    key_id, day = deployment.keys[OWNER][0], header.partition("/")[2][:8]
    changes = [
        *(
            (signature, other)
            for other in (*flipped(signature), signature[:-1], signature.upper(), "0" * 64, "")
        ),
        (key_id, deployment.keys[PARTNER][0]),
        (key_id, "000000000000"),
        (key_id, key_id.lower()),
        (day, "20200101"),
        (f"/{REGION}/", "/eu-west-1/"),
        ("/sqs/", "/sns/"),
        ("aws4_request", "aws4_requesT"),
        ("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA1"),
        ("AWS4-HMAC-SHA256 ", ""),
        ("SignedHeaders=", "SignedHeaders=accept;"),
        ("SignedHeaders=", "Signedheaders="),
        ("host;", ""),
        (";x-amz-date", ""),
        ("x-amz-date", "x-amz-date;x-amz-date"),
    ]
    altered = [signed.with_header("authorization", header.replace(*c)) for c in changes]
    assert all(request != signed for request in altered)
    assert_refused(deployment, [*altered, signed.with_header("authorization", None)])


def test_the_parameters_of_an_address(deployment: Deployment) -> None:
    signed = deployment.signed("address")
    signature = signed.target.rpartition("=")[2]
    key_id = deployment.keys[OWNER][0]
    changes = [
        *((signature, other) for other in (*flipped(signature), signature[:-1], "")),
        (key_id, deployment.keys[PARTNER][0]),
        ("MessageBody=signed", "MessageBody=forged"),
        ("MessageBody=signed", "MessageBody=signed&DelaySeconds=1"),
        ("MessageBody=signed", "MessageBody=signed&MessageBody=signed"),
        ("Action=SendMessage&", "Action=PurgeQueue&"),
        ("X-Amz-Expires=60", "X-Amz-Expires=604800"),
        ("X-Amz-Expires=60&", ""),
        ("X-Amz-SignedHeaders=host", "X-Amz-SignedHeaders="),
        ("X-Amz-SignedHeaders=host", "X-Amz-SignedHeaders=accept"),
        (quote(f"/{REGION}/", safe=""), quote("/eu-west-1/", safe="")),
        ("sqs%2Faws4_request", "sns%2Faws4_request"),
        ("X-Amz-Algorithm=AWS4-HMAC-SHA256&", ""),
        ("X-Amz-Date=2", "X-Amz-Date=1"),
        ("X-Amz-Signature=", "x-amz-signature="),
    ]
    altered = [signed._replace(target=signed.target.replace(*change)) for change in changes]
    assert all(request != signed for request in altered)
    unsigned = signed._replace(target=signed.target.partition("&X-Amz-")[0])
    both = signed._replace(
        headers=[*signed.headers, ("Authorization", deployment.signed("form").header("authorization"))]
    )
    assert_refused(deployment, [*altered, unsigned, both])


# --- what the signature covers ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("form", HEADER_FORMS)
def test_the_rest_of_the_request(deployment: Deployment, form: str) -> None:
    signed = deployment.signed(form)
    other = deployment.owner.create().rpartition("/")[2]
    date = signed.header("x-amz-date")
    altered = [
        *(signed._replace(body=body) for body in (
            signed.body.replace(b"signed", b"forged"), signed.body + b" ", signed.body[:-1], b"")),
        *(signed._replace(method=method) for method in METHODS[deployment.owner.deployment]),
        *(signed._replace(target=target) for target in (
            f"/{OWNER}/{other}", signed.target + "?DelaySeconds=1", signed.target + "?Action=PurgeQueue")),
        signed.with_header("host", "sqs.us-east-1.amazonaws.com"),
        signed.with_header("host", signed.header("host").rpartition(":")[0]),
        signed.with_header("content-type", "text/plain"),
        signed.with_header("x-amz-date", f"{date[:-2]}{(int(date[-2]) + 1) % 10}Z"),
        signed.with_header("x-amz-date", "20200101T000000Z"),
        signed.with_header("x-amz-date", None),
        *(signed._replace(headers=[*signed.headers, added]) for added in (
            ("X-Amz-Security-Token", "token"), ("X-Amz-Meta", "unsigned"),
            ("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD"), ("X-Amz-Target", "AmazonSQS.PurgeQueue"))),
    ]  # fmt: skip
    assert_refused(deployment, altered)


@pytest.mark.parametrize("form", HEADER_FORMS)
def test_repeated_headers(deployment: Deployment, form: str) -> None:
    """Every signed header twice, with its own value and with another one, before and after the signed one."""
    signed = deployment.signed(form)
    altered = []
    for name, value in signed.headers:
        for again in (value, "AmazonSQS.PurgeQueue"):
            altered += [
                signed._replace(headers=[*signed.headers, (name, again)]),
                signed._replace(headers=[(name, again), *signed.headers]),
            ]
    assert_refused(deployment, altered)


# --- who signed, when and for what -----------------------------------------------------------------------------------
@pytest.mark.parametrize("form", FORMS)
def test_signed_by_another_at_another_time_for_something_else(deployment: Deployment, form: str) -> None:
    key_id, secret = deployment.keys[OWNER]
    altered = [
        deployment.signed(form, key=(key_id, "another secret")),
        deployment.signed(form, key=(key_id, secret[:-1])),
        deployment.signed(form, key=(key_id, "")),
        deployment.signed(form, key=("PSTKNOBODYNOBODYNOBO", secret)),
        deployment.signed(form, key=(OWNER, secret)),
        deployment.signed(form, service="sns"),
        deployment.signed(form, service="s3"),
        deployment.signed(form, seconds=-16 * 60),  # of an address: 60 seconds are over
        deployment.signed(form, seconds=16 * 60),
        deployment.signed(form, seconds=-86_400),
        deployment.signed(form, seconds=365 * 86_400),
    ]
    assert_refused(deployment, altered)


# --- nothing is read before the signature is verified ----------------------------------------------------------------
MALFORMED = (b"not json", b"{", b"[" * 50_000, b'{"QueueUrl":1}', b"{}", b"\xff", b"Action=NoSuchAction", b"")


@pytest.mark.parametrize("form", HEADER_FORMS)
def test_a_bad_signature_is_all_that_is_said(deployment: Deployment, form: str) -> None:
    for body in MALFORMED:
        altered = deployment.signed(form, body=body, key=(deployment.keys[OWNER][0], "wrong"))
        assert deployment.send(altered) == (403, "SignatureDoesNotMatch")
        unknown = deployment.signed(form, body=body, key=("PSTKNOBODYNOBODYNOBO", "x"))
        assert deployment.send(unknown) == (403, "InvalidClientTokenId")


def test_a_good_signature_is_told_what_is_wrong(deployment: Deployment) -> None:
    codes = [deployment.send(deployment.signed("json", body=body))[1] for body in MALFORMED]
    assert codes == ["SerializationException"] * 4 + ["MissingParameter"] + ["SerializationException"] * 2 + [
        "MissingParameter"
    ]
    assert deployment.send(deployment.signed("form", body=b"Action=NoSuchAction")) == (400, "InvalidAction")
    assert deployment.send(deployment.signed("address", query="Action=")) == (400, "MissingAction")


@pytest.mark.parametrize("target", ["AmazonSQS.NoSuchAction", "AmazonSNS.Publish", ""])
def test_which_actions_there_are_is_not_said_either(deployment: Deployment, target: str) -> None:
    altered = deployment.signed("json").with_header("x-amz-target", target)
    assert deployment.send(altered) == (403, "SignatureDoesNotMatch")
