"""Tests that the service's log, PostgreSQL's log and /metrics contain no client data: no messages, secrets, signatures,
tokens, or invented names, which would fill the metrics with labels.

Each request contains a unique word that must not appear in any log. The requests succeed and fail in every way, because
most log lines are about errors.
"""

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import httpx
import pytest

from penstock.aws.codec import cbor
from tests.support.conformance.access_keys import ENCRYPTION_KEY, OWNER, SIGV4, key_ring, new_key
from tests.support.conformance.sqs import read_cbor
from tests.support.database import TestServer
from tests.support.hostile.signatures.signing import JSON, Recipe, Request, Signer, sign_address, sign_header
from tests.support.programs.penstock_service import running_service
from tests.support.wait import wait_until

METRICS_TOKEN = "canary-metrics-token"
SETTINGS = {
    **SIGV4,
    "QUEUE_METRICS_TOKEN": METRICS_TOKEN,
    "WEBHOOK_SIGNING_SECRET": "whsec_Y2FuYXJ5LXdlYmhvb2stc2VjcmV0LWNhbmFyeQ==",
}


class CanaryInstallation(NamedTuple):
    """Holds a service with access control, its keys, and the later log lines of the service and of PostgreSQL."""

    http: httpx.Client
    signer: Signer
    bearer: str
    log: Callable[[], str]
    database_log: Callable[[], str]

    def send(self, request: Request) -> int:
        headers = [(name.encode(), value.encode("latin-1")) for name, value in request.headers]
        return self.http.request(request.method, request.target, headers=headers, content=request.body).status_code

    def sign(self, action: str, members: dict[str, Any] | bytes, service: str = "sqs") -> int:
        body = members if isinstance(members, bytes) else json.dumps(members).encode()
        target = ("X-Amz-Target", f"Amazon{service.upper()}.{action}")
        asked = Request("POST", "/", (("Host", self.signer.host), JSON, target), body)
        return self.send(sign_header(asked, self.signer.key, Recipe(service=service)))

    def ask(self, method: str, path: str, body: Any = None, key: str | None = None) -> int:
        headers = {"authorization": f"Bearer {key or self.bearer}", "content-type": "application/json"}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.http.request(
            method, f"/v1{path}", headers=headers, content=b"" if body is None else content
        ).status_code

    def metrics(self) -> str:
        response = self.http.get("/metrics", headers={"authorization": f"Bearer {METRICS_TOKEN}"})
        assert response.status_code == 200
        return response.text


def read_from(log: Path, start: int) -> str:
    return log.read_bytes()[start:].decode()


@pytest.fixture(scope="module")
def installation(postgres: TestServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CanaryInstallation]:
    database_log = postgres.server.data.parent / "log"
    log = tmp_path_factory.mktemp("canaries") / "log"
    with postgres.database() as database, log.open("wb") as written:
        key = new_key(database, OWNER)
        with key_ring(database) as ring:
            bearer = ring.create(OWNER, "", bearer=True).token
        start = database_log.stat().st_size
        with running_service(database.api_dsn, log=written, **SETTINGS) as service, service.http() as http:
            signer = Signer(service.url, f"{service.url}/{OWNER}/orders", f"/{OWNER}/bills", key, key)
            yield CanaryInstallation(http, signer, bearer, log.read_text, lambda: read_from(database_log, start))


def messages(it: CanaryInstallation, word: str) -> Iterator[int]:
    """Sends, refuses and receives bodies, attributes and headers."""
    url = {"QueueUrl": it.signer.queue_url}
    text = {"DataType": "String", "StringValue": f"{word}-attribute"}
    yield it.sign("SendMessage", {**url, "MessageBody": f"{word}-body", "MessageAttributes": {"a": text}})
    yield it.sign("SendMessage", {**url, "MessageBody": f"{word}-refused\x01"})
    yield it.sign("SendMessage", {**url, "MessageBody": f"{word}-long" + "x" * 1_100_000})
    yield it.sign(
        "SendMessage", {**url, "MessageBody": "b", "MessageAttributes": {f"{word}-name": {**text, "DataType": "x"}}}
    )
    yield it.sign("SendMessage", b'{"QueueUrl":"%b' % f"{word}-not-json".encode())
    yield it.sign("SendMessageBatch", {**url, "Entries": [{"Id": "a", "MessageBody": f"{word}-batch"}] * 2})
    yield it.sign("ReceiveMessage", {**url, "VisibilityTimeout": 0})
    yield it.ask("POST", "/queues/orders/messages", {"message": f"{word}-rest", "headers": {"h": f"{word}-header"}})
    yield it.ask("POST", "/queues/orders/messages", {"message": f"{word}-rest", "headers": {"h h": f"{word}-header"}})
    yield it.ask("POST", "/queues/orders/messages", f'{{"message": {word}'.encode())
    yield it.ask("POST", "/events/a.b", {"message": f"{word}-event", "headers": {"a": {"b": f"{word}\x00"}}})
    yield it.ask("POST", "/transactions", {"send": [{"queue": "orders", "message": f"{word}-transaction"}], "ack": [1]})
    yield it.ask("POST", "/transactions", {"send": [{"queue": "orders", "message": f"{word}-transaction"}]})


def handles(it: CanaryInstallation, word: str) -> Iterator[int]:
    """Sends receipt handles and tokens of subscriptions and pages."""
    url = {"QueueUrl": it.signer.queue_url}
    yield it.sign("DeleteMessage", {**url, "ReceiptHandle": f"{word}-handle"})
    yield it.sign("ListQueues", {"NextToken": f"{word}-page", "MaxResults": 1})
    yield it.sign("CancelMessageMoveTask", {"TaskHandle": f"{word}-task"})
    arn = f"arn:aws:sns:us-east-1:{OWNER}:news"
    yield it.sign("ConfirmSubscription", {"TopicArn": arn, "Token": f"{word}-token"}, "sns")
    link = f"/?Action=ConfirmSubscription&TopicArn={arn}&Token={word}-link"
    yield it.send(Request("GET", link, (("Host", it.signer.host),), b""))
    yield it.ask("DELETE", "/queues/orders/messages", {"receipts": [f"{word}-receipt"]})


def credentials(it: CanaryInstallation, word: str) -> Iterator[int]:
    """Uses valid and invalid secrets and signs requests with them."""
    good = it.signer.json()
    yield it.send(good.with_header("authorization", good.header("authorization")[:-9] + "0badcafe0"))
    yield it.send(good.with_header("authorization", f"AWS4-HMAC-SHA256 Credential={word}/x"))
    yield it.send(good.with_header("authorization", f"Basic {word}"))
    yield it.send(sign_header(it.signer.unsigned_json(), (it.signer.key[0], f"{word}-secret")))
    yield it.send(
        sign_address(it.signer.unsigned_address(f"Action=SendMessage&MessageBody={word}-address"), it.signer.key)
    )
    yield it.ask("GET", "/queues", key=f"{it.bearer.partition('.')[0]}.{word}")
    yield it.ask("GET", "/queues", key=f"PSTB{word}.{word}")
    yield it.http.get("/metrics", headers={"authorization": f"Bearer {word}-metrics"}).status_code
    yield it.http.get("/v1/queues", headers={"cookie": f"session={word}", "x-api-key": word}).status_code


def documents(it: CanaryInstallation, word: str) -> Iterator[int]:
    """Sends policies, filter policies, tags, schedules and webhook URLs."""
    url = {"QueueUrl": it.signer.queue_url}
    yield it.sign("SetQueueAttributes", {**url, "Attributes": {"Policy": json.dumps({"Statement": [{"Sid": word}]})}})
    yield it.sign("SetQueueAttributes", {**url, "Attributes": {"Policy": f"{{{word}"}})
    yield it.sign("SetQueueAttributes", {**url, "Attributes": {f"{word}-attribute": "x"}})
    yield it.sign("TagQueue", {**url, "Tags": {f"{word}-key": f"{word}-value"}})
    yield it.sign("TagQueue", {**url, "Tags": {f"{word}-key\x00": "v"}})
    yield it.ask("POST", "/events/a.b/subscriptions", {"queue_name": "orders", "filter_policy": {word: ["b"]}})
    yield it.ask("POST", "/events/a.b/subscriptions", {"queue_name": "orders", "filter_policy": {"a": [{word: 1}]}})
    yield it.ask("POST", "/schedules", {"name": "s", "cron": word, "target": {"queue": "orders", "message": word}})
    target = {"queue": "orders", "message": word}
    yield it.ask("POST", "/schedules", {"name": "s", "fire_at": "2099-01-01T00:00:00Z", "target": target})


def sources(it: CanaryInstallation, word: str) -> Iterator[int]:
    """Creates a webhook with a token, and sends requests with right and wrong tokens to its URL."""
    token, role = f"{word}-token", f"arn:aws:iam::{OWNER}:role/r"
    auth = {"StaticTokenAuthConfiguration": {"TokenHttpHeader": "x-token", "SecretValue": token}}
    configuration = {"WebhookEventsConfiguration": {"AuthConfiguration": auth, "RoleArn": role}}

    def call(action: str, **members: Any) -> httpx.Response:
        headers = (("Host", it.signer.host), ("Smithy-Protocol", "rpc-v2-cbor"), ("Content-Type", "application/cbor"))
        asked = Request("POST", f"/service/AWSEventsV2/operation/{action}", headers, cbor.encode(members))
        signed = sign_header(asked, it.signer.key, Recipe(service="events"))
        return it.http.post(signed.target, headers=dict(signed.headers), content=signed.body)

    bus = read_cbor(call("CreateEventBus", Name="hooks").content)["EventBusArn"]
    created = call("CreateEventSource", Name="hook", EventBusArn=bus, Configuration=configuration)
    yield created.status_code
    yield call("CreateEventSource", Name=word, EventBusArn=bus, Configuration=configuration).status_code
    url = read_cbor(created.content)["EventSourceDetails"]["WebhookDetails"]["WebhookUrl"]
    assert it.http.post(url, content=word, headers={"x-token": token}).status_code == 202
    for given in (token, f"{word}-wrong", ""):
        headers = {"x-token": given, "x-word": word, "content-type": "application/json"}
        yield it.http.post(url, content=f"{{{word}", headers=headers).status_code
    yield it.http.post(f"{url}{word}", content=word).status_code


def names(it: CanaryInstallation, word: str) -> Iterator[int]:
    """Names queues, actions, methods and paths that do not exist."""
    for number in range(60):
        yield it.sign(
            "SendMessage", {"QueueUrl": f"{it.signer.endpoint_url}/{OWNER}/{word}-{number}", "MessageBody": "b"}
        )
        yield it.sign(f"{word}{number}", {})
        yield it.ask("GET", f"/queues/{word}-{number}")
        yield it.http.get(f"/{word}/{number}?{word}={number}").status_code
        yield it.http.request("POST", f"/v1/{word}{number}", content=b"").status_code
        yield it.http.get(f"/?Action={word}{number}").status_code


def faults(it: CanaryInstallation, word: str) -> Iterator[int]:
    """Sends bytes that are not HTTP, which the service logs as invalid, and truncated requests."""
    address = urlsplit(it.signer.endpoint_url)
    for data in (
        f"{word} / HTTP/1.1\r\n\r\n", f"GET /{word} HTTP/9.9\r\nHost: x\r\n\r\n",
        f"GET / HTTP/1.1\r\n{word} x: y\r\n\r\n",
        f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {word}\r\n\r\n",
        f"GET / HTTP/1.1\r\nHost: x\r\nA: {word}\x00\r\n\r\n",
        f"POST /{quote(word)} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: {word}\r\n\r\n",
    ):  # fmt: skip
        with socket.create_connection((address.hostname or "", address.port or 0), 20) as connection:
            connection.sendall(data.encode("latin-1"))
            yield int(connection.recv(65_536).split(b" ")[1])


NOT_HTTP = "a client sent data that is not HTTP"
KINDS = (messages, handles, credentials, documents, sources, names, faults)


@pytest.mark.parametrize("kind", KINDS, ids=[kind.__name__ for kind in KINDS])
def test_no_canary_is_written_down(
    installation: CanaryInstallation,
    kind: Callable[[CanaryInstallation, str], Iterator[int]],
    request: pytest.FixtureRequest,
) -> None:
    """The test reads the log when it contains the line of a last request."""
    installation.ask("POST", "/queues", {"name": "orders"})
    word = f"canary{request.node.callspec.id}"
    assert [status for status in kind(installation, word) if status >= 500 and status not in {501, 505}] == []
    said = installation.log().count(NOT_HTTP)
    list(faults(installation, "mark"))
    wait_until(lambda: installation.log().count(NOT_HTTP) > said)
    secrets = (
        word, word.upper(), "0badcafe0", installation.signer.key[1], installation.bearer.partition(".")[2],
        ENCRYPTION_KEY,
        METRICS_TOKEN, "Y2FuYXJ5LXdlYmhvb2s",
    )  # fmt: skip
    for place, text in (
        ("log", installation.log()), ("PostgreSQL's log", installation.database_log()), ("metrics",
        installation.metrics()),
    ):  # fmt: skip
        assert [secret for secret in secrets if secret in text] == [], place
    wait_until(lambda: 'queue="orders"' in installation.metrics())  # An existing queue appears as a label.
