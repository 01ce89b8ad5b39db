"""Tests that the service refuses signed requests that were altered, replayed or signed for another purpose.

The tests send the requests to both deployments over the network. `tests/support/hostile/signatures` lists the altered
requests and the valid forms. The service must answer with a credential error, and the queue must keep its messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from http.client import HTTPConnection
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.support.conformance.access_keys import OWNER, PARTNER, SIGV4
from tests.support.conformance.database_clock import Clock
from tests.support.conformance.deployments import DEPLOYMENTS, Deployments
from tests.support.conformance.sqs import REGION, Sqs, read_refusal
from tests.support.hostile.signatures.altered import unknown_keys
from tests.support.hostile.signatures.requests import KINDS, WIRE_KINDS
from tests.support.hostile.signatures.signing import Forgeries, Key, Recipe, Request, Signer, sign_address, sign_header

NOT_HTTP = "no request of HTTP"
CODES = {NOT_HTTP, "SignatureDoesNotMatch", "IncompleteSignature", "InvalidClientTokenId", "MissingAuthenticationToken"}


class Deployment(NamedTuple):
    """Connects to one deployment that verifies signatures, and provides a queue of the account that owns the key."""

    connection: HTTPConnection
    owner: Sqs
    url: str
    signer: Signer

    def send(self, request: Request) -> tuple[int, str]:
        """Returns the status and the error code. The code is empty if the response has no error. Can
        also send repeated headers.
        """
        self.connection.putrequest(request.method, request.target, skip_host=True, skip_accept_encoding=True)
        for name, value in request.headers:
            self.connection.putheader(name, value.encode("latin-1"))
        self.connection.putheader("Content-Length", str(len(request.body)))
        self.connection.endheaders(request.body)
        response = self.connection.getresponse()
        body = response.read()
        if response.status < 400:
            return response.status, ""
        headers = {name.lower(): value for name, value in response.getheaders()}
        # SQS has no such path or method.
        if request.method == "HEAD" or headers["content-type"] == "application/json":
            return response.status, "MissingAuthenticationToken"
        # A request with two Host headers is invalid (RFC 9112, 3.2).
        if headers["content-type"].startswith("text/plain"):
            return response.status, NOT_HTTP
        protocol = "json" if "x-amzn-query-error" in headers else "query"
        return response.status, read_refusal(protocol, response.status, headers, body).code


@pytest.fixture(params=DEPLOYMENTS)
def deployment(
    request: pytest.FixtureRequest, deployments: Deployments, clock: Clock, keys: dict[str, Key]
) -> Iterator[Deployment]:
    owner = Sqs(deployments, clock, request.param, "json").with_settings(SIGV4).with_key(*keys[OWNER])
    connection = HTTPConnection(urlsplit(owner.endpoint_url).netloc, timeout=30)
    url, other = owner.create(), urlsplit(owner.create()).path
    try:
        yield Deployment(connection, owner, url, Signer(owner.endpoint_url, url, other, keys[OWNER], keys[PARTNER]))
    finally:
        connection.close()


# --- what is signed --------------------------------------------------------------------------------------------------
FORMS: dict[str, Callable[[Signer], Request]] = {
    "json": lambda signer: signer.json(),
    "form": lambda signer: signer.form(),
    "address": lambda signer: signer.address(),
    "json, with a hash": lambda signer: signer.json(
        Recipe(), ("X-Amz-Content-Sha256", sha256(signer.unsigned_json().body).hexdigest())
    ),
    "14 minutes old": lambda signer: signer.json(Recipe(seconds=-14 * 60)),
    "in 14 minutes": lambda signer: signer.json(Recipe(seconds=14 * 60)),
    "address for a week": lambda signer: signer.address(Recipe(seconds=-6 * 86_400, expires="604800")),
    "with a header that AWS does not know": lambda signer: signer.json().adding(("X-Trace", "unsigned")),
}


@pytest.mark.parametrize("form", FORMS)
def test_unaltered_it_is_accepted(deployment: Deployment, form: str) -> None:
    """The service accepts the unaltered form, so the alteration causes each refusal below."""
    assert deployment.send(FORMS[form](deployment.signer)) == (200, "")
    assert deployment.owner.counts(deployment.url) == (1, 0, 0)


def test_the_signer_signs_as_botocore_does(deployment: Deployment) -> None:
    """The test compares the signer with the signers of botocore, one of which AWS itself wrote."""
    signer = deployment.signer
    for request, kind in (
        (signer.unsigned_json(), SigV4Auth), (signer.unsigned_form(), SigV4Auth),
        (signer.unsigned_address(), SigV4QueryAuth),
    ):  # fmt: skip
        given = AWSRequest(
            request.method, signer.endpoint_url + request.target, headers=dict(request.headers), data=request.body
        )
        more = {"expires": 60} if kind is SigV4QueryAuth else {}
        kind(Credentials(*signer.key), "sqs", REGION, **more).add_auth(given)
        by_botocore = given.headers.get("Authorization") or given.url.partition("&")[2]
        ours = (sign_address if more else sign_header)(
            request, signer.key, Recipe(timestamp=given.headers.get("X-Amz-Date") or given.context["timestamp"])
        )
        assert by_botocore == (ours.header("authorization") or ours.target.partition("&")[2])


@pytest.mark.parametrize("kind", KINDS)
def test_an_altered_signature_is_refused(deployment: Deployment, kind: str) -> None:
    assert_none_is_accepted(deployment, KINDS[kind](deployment.signer))


@pytest.mark.parametrize("deployment", ["container"], indirect=True)
@pytest.mark.parametrize("kind", WIRE_KINDS)
def test_an_altered_signature_is_refused_over_a_socket(deployment: Deployment, kind: str) -> None:
    """A function never receives such altered requests, because API Gateway has no route for them, unfolds their headers
    or refuses them."""
    assert_none_is_accepted(deployment, WIRE_KINDS[kind](deployment.signer))


def assert_none_is_accepted(deployment: Deployment, forged: Forgeries) -> None:
    """Asserts that the service refuses every request and that the queue stays empty."""
    responses = [(name, *deployment.send(request)) for name, request in forged]
    assert responses
    assert [response for response in responses if response[1] not in {400, 403, 404, 405}] == []
    assert [response for response in responses if response[2] not in CODES] == []
    assert deployment.owner.counts(deployment.url) == (0, 0, 0)


def test_there_are_many_and_no_two_are_the_same(deployment: Deployment) -> None:
    kinds = [list(kind(deployment.signer)) for kind in (*KINDS.values(), *WIRE_KINDS.values(), unknown_keys)]
    assert all(len({name for name, _ in kind}) == len(kind) for kind in kinds)
    assert len({request for kind in kinds for _, request in kind}) >= 1_000


# --- nothing is read before the signature is verified ----------------------------------------------------------------
MALFORMED = (b"not json", b"{", b"[" * 50_000, b'{"QueueUrl":1}', b"{}", b"\xff", b"Action=NoSuchAction", b"")


@pytest.mark.parametrize("form", ["json", "form"])
def test_a_bad_signature_is_all_that_is_said(deployment: Deployment, form: str) -> None:
    signer = deployment.signer
    unsigned = signer.unsigned_json() if form == "json" else signer.unsigned_form()
    for body in MALFORMED:
        altered = sign_header(unsigned._replace(body=body), (signer.key[0], "wrong"))
        assert deployment.send(altered) == (403, "SignatureDoesNotMatch")
        unknown = sign_header(unsigned._replace(body=body), ("PSTKNOBODYNOBODYNOBO", "x"))
        assert deployment.send(unknown) == (403, "InvalidClientTokenId")


def test_a_good_signature_is_told_what_is_wrong(deployment: Deployment) -> None:
    signer = deployment.signer

    def code(unsigned: Request, body: bytes) -> tuple[int, str]:
        return deployment.send(sign_header(unsigned._replace(body=body), signer.key))

    codes = [code(signer.unsigned_json(), body)[1] for body in MALFORMED]
    assert codes == ["SerializationException"] * 4 + ["MissingParameter"] + ["SerializationException"] * 2 + [
        "MissingParameter"
    ]
    assert code(signer.unsigned_form(), b"Action=NoSuchAction") == (400, "InvalidAction")
    unknown = sign_address(signer.unsigned_address("Action=NoSuchAction"), signer.key)
    assert deployment.send(unknown) == (400, "InvalidAction")


@pytest.mark.parametrize("target", ["AmazonSQS.NoSuchAction", "AmazonSNS.Publish", ""])
def test_which_actions_there_are_is_not_said_either(deployment: Deployment, target: str) -> None:
    altered = deployment.signer.json().with_header("x-amz-target", target)
    assert deployment.send(altered) == (403, "SignatureDoesNotMatch")


def test_an_unsigned_header_of_a_signed_request_does_not_count(sqs: Sqs, keys: dict[str, Key]) -> None:
    """The header is X-Penstock-Error (docs/guides/why_failed.md). The change of the visibility succeeds. Botocore signs
    what `before-sign` adds, and not what `before-send` adds."""
    signed = sqs.with_settings(SIGV4).with_key(*keys[OWNER])
    dead = signed.create()
    url = signed.create(RedrivePolicy=f'{{"deadLetterTargetArn": "{signed.arn(dead)}", "maxReceiveCount": 1}}')
    for event in ("before-send", "before-sign"):
        signed.send(url, event)
        with signed.failing("boom", event):
            signed.hide(url, signed.receive_one(url), 0)
        assert signed.poll(url) == []
    letters = signed.receive(dead, 2, MessageAttributeNames=["PenstockError"])
    found = {letter["Body"]: letter.get("MessageAttributes", {}).get("PenstockError") for letter in letters}
    assert found == {"before-send": None, "before-sign": {"StringValue": "boom", "DataType": "String"}}
