"""Tests QUEUE_ACCESS in the container with the REST API, repeated headers, and the commands that create keys."""

import json
import re
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import md5
from http.client import HTTPConnection
from types import SimpleNamespace
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from penstock.postgres.migrations import find_sql_directory
from penstock_web.cli import main
from penstock_web.http.aws_protocols import join_repeated_headers
from penstock_web.local.postgres import free_port
from tests.support.conformance.access_keys import ENCRYPTION_KEY, OWNER, PARTNER, SIGV4, key_ring, new_key, revoke
from tests.support.database import Database, TestServer
from tests.support.hostile.signatures.altered import unknown_keys
from tests.support.hostile.signatures.signing import Attempt, Signer, allowed, forgeries
from tests.support.programs.penstock_service import Service, running_service
from tests.support.wait import wait_until

pytestmark = [pytest.mark.shared, pytest.mark.settings(**SIGV4)]

# An account that has no queues.
EMPTY = "999988887777"


class CommandLine:
    """Runs `penstock keys` in the process of the test."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> list[str]:
        code = main(["keys", *arguments])
        output = self._capsys.readouterr()
        assert code == 0, output.err
        return output.out.splitlines()

    def refused(self, *arguments: str) -> str:
        """Returns the only line in standard error."""
        assert main(["keys", *arguments]) == 1
        (line,) = self._capsys.readouterr().err.splitlines()
        return line


@pytest.fixture
def keys(shared_database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    for name, value in {**SIGV4, "DATABASE_URL": shared_database.api_dsn}.items():
        monkeypatch.setenv(name, value)
    return CommandLine(capsys)


def test_a_new_key_is_a_line_for_the_environment(keys: CommandLine) -> None:
    """The command line reads PENSTOCK_TOKEN, and SDKs read the other two variables. The comment names the owner."""
    line, comment = keys("create", "--bearer")
    assert line.startswith("PENSTOCK_TOKEN=PSTB")
    assert comment.startswith("# no user, every right of account 000000000000; Penstock does not show the secret again")
    assert "Authorization: Bearer $PENSTOCK_TOKEN" in comment
    (text,) = keys("create", "--bearer", "--json")
    made = json.loads(text)
    assert made.keys() == {"id", "account", "user", "PENSTOCK_TOKEN"}
    assert (made["account"], made["user"]) == ("000000000000", None)
    assert json.loads(keys("create", "--json")[0]).keys() == {
        "id", "account", "user", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
    }  # fmt: skip


def bearer(keys: CommandLine, *arguments: str) -> str:
    """Returns the value of the header."""
    key = keys("create", "--bearer", *arguments)[0].partition("=")[2]
    return f"Bearer {key}"


def refusal(response: httpx.Response) -> tuple[int, str, str | None]:
    return response.status_code, response.json()["error"]["code"], response.headers.get("www-authenticate")


UNAUTHORIZED = (401, "unauthorized", "Bearer")


def test_the_rest_api_takes_bearer_keys(service: Service, keys: CommandLine) -> None:
    key = bearer(keys)
    with service.http() as http:
        for path in ("/v1/queues", "/v1/queues/orders/metrics", "/v1/metrics/lag"):
            assert refusal(http.get(path)) == UNAUTHORIZED
        # A caller without a key does not learn about other errors in the request.
        assert refusal(http.post("/v1/queues", json={"name": "no such name!"})) == UNAUTHORIZED
        half = key.rpartition(".")[0]
        for wrong in (key[:-1], f"{half}.", half, "Basic eDp4", "Bearer", "Bearer \xff.x", f"{key}\xff"):
            header = {b"authorization": wrong.encode("latin-1")}
            assert refusal(http.get("/v1/queues", headers=header)) == UNAUTHORIZED
        http.headers["authorization"] = key
        assert http.post("/v1/queues", json={"name": "orders"}).status_code == 201
        assert http.get("/v1/queues/orders").json()["name"] == "orders"
        keys("revoke", key.partition(" ")[2].partition(".")[0])
        assert refusal(http.get("/v1/queues")) == UNAUTHORIZED


def test_a_policy_that_locks_everybody_out_is_mended(service: Service, keys: CommandLine) -> None:
    """The REST API does not evaluate queue policies, so only the owner's account can use the queue."""
    owner, stranger = {"authorization": bearer(keys)}, {"authorization": bearer(keys, "--account", PARTNER)}
    statement = {"Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*"}
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    new = {"name": "locked", "attributes": {"Policy": policy}}
    with service.http() as http:
        assert http.post("/v1/queues", json=new, headers=owner).status_code == 201
        change = {"attributes": {"Policy": ""}}
        assert http.patch("/v1/queues/locked", json=change, headers=stranger).status_code == 404
        assert "Policy" in http.get("/v1/queues/locked", headers=owner).json()["attributes"]
        mended = http.patch("/v1/queues/locked", json=change, headers=owner)
        assert (mended.status_code, mended.json()["attributes"].get("Policy")) == (200, None)


def test_a_bearer_key_opens_its_own_account(service: Service, keys: CommandLine) -> None:
    with service.http() as http:
        mine, theirs = (
            {"authorization": bearer(keys, "--account", EMPTY)},
            {"authorization": bearer(keys, "--account", PARTNER)},
        )
        assert http.post("/v1/queues", json={"name": "orders"}, headers=theirs).status_code == 201
        assert http.get("/v1/queues/orders", headers=mine).status_code == 404
        assert http.get("/v1/queues/orders", headers=theirs).status_code == 200
        assert http.get("/v1/queues/orders/metrics", headers=mine).status_code == 404
        assert http.get("/v1/queues/orders/metrics", headers=theirs).status_code == 200
        assert http.get("/v1/metrics/lag", headers=mine).json()["queues"] == []


def test_health_and_the_description_are_open(service: Service) -> None:
    with service.http() as http:
        for path in ("/livez", "/readyz", "/v1", "/v1/openapi.json"):
            assert http.get(path).status_code == 200


def test_presence_wants_any_header(shared_database: Database) -> None:
    """The service answers 403 to a request without the header (docs/operate/access.md). A challenge (401) would require
    a key that does not exist.
    """
    with running_service(shared_database.api_dsn, QUEUE_ACCESS="presence") as service, service.http() as http:
        assert refusal(http.get("/v1/queues")) == (403, "unauthorized", None)
        assert refusal(http.post("/v1/queues", content=b"not json")) == (403, "unauthorized", None)
        assert http.get("/v1/queues", headers={"authorization": "anything"}).status_code == 200


def test_a_repeated_target_does_not_hide_behind_the_signed_one(service: Service, keys: CommandLine) -> None:
    """The signature covers the first of two targets, but the server would run the second target."""
    key_id, secret = (line.partition("=")[2] for line in keys("create")[:2])
    target = "AmazonSQS.ListQueues"
    signed = AWSRequest("POST", f"{service.url}/", headers={"X-Amz-Target": target}, data=b"{}")
    SigV4Auth(Credentials(key_id, secret), "sqs", "us-east-1").add_auth(signed)
    headers = list(signed.headers.items())
    with service.http() as http:
        assert http.post("/", content=b"{}", headers=headers).status_code == 200
        response = http.post("/", content=b"{}", headers=[*headers, ("X-Amz-Target", "AmazonSQS.PurgeQueue")])
    assert response.status_code in {400, 403}


def test_a_long_body_is_verified_and_stored(service: Service, keys: CommandLine) -> None:
    """The service verifies the signature before it releases the memory of the body. The service refuses an altered
    body.
    """
    key_id, secret = (line.partition("=")[2] for line in keys("create")[:2])

    def send(text: str, altered: bytes = b"") -> httpx.Response:
        body = json.dumps({"QueueUrl": "http://x/000000000000/long", "MessageBody": text}).encode()
        headers = {"X-Amz-Target": "AmazonSQS.SendMessage", "Content-Type": "application/x-amz-json-1.0"}
        signed = AWSRequest("POST", f"{service.url}/", headers=headers, data=body)
        SigV4Auth(Credentials(key_id, secret), "sqs", "us-east-1").add_auth(signed)
        return http.post("/", content=altered or body, headers=list(signed.headers.items()))

    with service.http() as http:
        new = http.post("/v1/queues", json={"name": "long"}, headers={"authorization": bearer(keys)})
        assert new.status_code == 201
        text = "x" * 900_000
        response = send(text)
        assert (response.status_code, response.json()["MD5OfMessageBody"]) == (200, md5(text.encode()).hexdigest())
        assert send(text, b"{" + b" " * 900_000 + b"}").status_code == 403


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("POST / HTTP/1.1\r\nX-Amz-Target: AmazonSQS.SendMessage", b"403 "),
        ("POST /v1/queues/orders/messages HTTP/1.1\r\nAuthorization: Bearer PSTB0000000000000000.x", b"401 "),
        ("POST /v1/queues/orders/messages HTTP/1.1", b"401 "),
    ],
)
def test_a_long_body_of_an_unknown_caller_is_not_read(service: Service, head: str, status: bytes) -> None:
    """The service responds before a byte of the body has arrived."""
    port = int(service.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(f"{head}\r\nHost: localhost\r\nContent-Length: 6000000\r\n\r\n".encode())
        assert connection.recv(13)[9:] == status


def test_repeated_headers_are_joined() -> None:
    assert join_repeated_headers([(b"a", b"1"), (b"b", b"2"), (b"a", b"3")]) == {b"a": b"1,3", b"b": b"2"}


def test_keys_are_made_listed_and_revoked(
    database: Database, keys: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database.api_dsn)  # The list contains all keys.
    key_id, secret = (line.partition("=")[2] for line in keys("create", "--description", "for orders")[:2])
    token = bearer(keys, "--account", PARTNER).partition(" ")[2]
    head, first, second = (re.split("  +", line) for line in keys("list"))
    assert (first[0], first[1], first[2], first[-1]) == ("access", key_id, "000000000000", "for orders")
    assert (second[0], second[1], second[2]) == ("bearer", token.partition(".")[0], PARTNER)
    at = head.index("REVOKED")
    assert first[at] == second[at] == "-"
    keys("revoke", key_id)
    revoked = re.split("  +", keys("list")[1])
    assert datetime.fromisoformat(revoked[at]).tzinfo == UTC
    assert keys("revoke", key_id)
    with psycopg.connect(database.dsn) as connection:
        rows = connection.execute("select a::text, b::text from queue.access_key a, queue.bearer_key b").fetchone()
    assert rows is not None
    for shown in (secret, token.partition(".")[2]):
        assert shown not in str(rows)
        assert shown.encode().hex() not in str(rows)


def test_an_impossible_command_about_keys_is_refused(keys: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "12 digits" in keys.refused("create", "--account", "12")
    assert "there is no key" in keys.refused("revoke", "PSTKNOBODY")
    monkeypatch.setenv("QUEUE_ENCRYPTION_KEY", "short")
    assert "QUEUE_ENCRYPTION_KEY must be 32 bytes" in keys.refused("create")
    monkeypatch.delenv("QUEUE_ENCRYPTION_KEY")
    monkeypatch.setenv("DATABASE_URL", "")
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "/proc/nowhere")  # No service on the machine has this address.
    assert "DATABASE_URL" in keys.refused("list")


def test_settings_say_that_they_are_not_the_running_service_s(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("penstock_web.local.announced.list_running_services", list)
    assert main(["settings"]) == 0
    assert capsys.readouterr().err == ""
    service = SimpleNamespace(address="http://127.0.0.1:9555")
    monkeypatch.setattr("penstock_web.local.announced.list_running_services", lambda: [service])
    assert main(["settings"]) == 0
    assert "The service at http://127.0.0.1:9555 started with other" in capsys.readouterr().err


def test_settings_do_not_show_the_key(keys: CommandLine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings"]) == 0
    output = capsys.readouterr().out
    assert "QUEUE_ENCRYPTION_KEY=(set)" in output
    assert ENCRYPTION_KEY not in output


@pytest.mark.parametrize("role", ["penstock_reader", "penstock_metrics"])
def test_readers_do_not_see_keys(shared_database: Database, role: str) -> None:
    """grants.sql creates the roles only if the current role has the right to create roles. The superuser runs
    grants.sql in a transaction that is rolled back.
    """
    secrets = ["queue.access_key", "queue.bearer_key", "queue.signing_key", "queue.secret"]
    results = [f"queue.metrics_{name}" for name in ("window", "latency", "forecast", "run")]
    others = ["queue.queues", "queue.history", "queue.finished_message", "queue.live_message"]
    question = "select t from unnest(%s::text[]) t where has_table_privilege(%s, t, %s)"
    with psycopg.connect(shared_database.dsn) as connection:
        connection.execute((find_sql_directory() / "grants.sql").read_bytes())
        may = {
            right: [row[0] for row in connection.execute(question, (secrets + results + others, role, right))]
            for right in ("select", "insert", "update", "delete")
        }
        connection.rollback()
    written = results if role == "penstock_metrics" else []
    assert may == {"select": results + others, **dict.fromkeys(("insert", "update", "delete"), written)}


def test_the_service_does_not_start_without_the_encryption_key(
    keys: CommandLine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("QUEUE_ENCRYPTION_KEY")
    assert main(["up", "--no-migrate", "--port", str(free_port())]) == 1
    assert "QUEUE_ENCRYPTION_KEY must be 32 bytes" in capsys.readouterr().err


def test_guessing_keys_costs_the_database_nothing(shared_database: Database, keys: CommandLine) -> None:
    """Another client at that address can still use a key that the process has verified before."""
    known = {"authorization": bearer(keys)}
    with running_service(shared_database.api_dsn, **SIGV4) as service, service.http() as http:
        assert http.get("/v1/queues", headers=known).status_code == 200
        codes = [
            http.get("/v1/queues", headers={"authorization": f"Bearer PSTB{number:016}.x"}).status_code
            for number in range(100)
        ]
        assert codes[0] == 401
        assert codes[-1] == 429
        assert set(codes) == {401, 429}
        assert http.get("/v1/queues", headers=known).status_code == 200


# --- hosts -----------------------------------------------------------------------------------------------------------
# Tests that the service answers health checks with any Host name, because load balancers and Kubernetes use other names
# (docs/operate/access.md).


EVIL = {"host": "rebind.evil.example"}


@pytest.mark.parametrize("access", ["off", "sigv4"])
def test_refused_hosts_and_pages_are_counted_in_the_audit(access: str, database: Database) -> None:
    """One row contains the number of refusals for a minute, a caller and an error. A refusal makes no database call."""
    pages = {"origin": "https://evil.example"}
    settings = {**SIGV4, "QUEUE_CONSOLE": "full"} if access == "sigv4" else {"QUEUE_CONSOLE": "full"}
    often = {"penstock.access.audit.refusals.WRITE_SECONDS": 0.1}
    with running_service(database.api_dsn, constants=often, **settings) as service, service.http() as http:
        for _ in range(3):
            if access == "off":
                assert http.get("/v1/queues", headers=EVIL).status_code == 421
                assert http.post("/", headers=EVIL, data={"Action": "ListQueues"}).status_code == 421
                assert http.get("/console", headers=EVIL).status_code == 421
            assert http.get("/v1/queues", headers=pages).status_code == 403
            assert http.post("/", headers=pages, data={"Action": "ListQueues"}).status_code == 403
            assert http.post("/console/sign-in", headers=pages, data={"key": "x"}).status_code == 403
        query = "select interface, error, repeated, date_trunc('minute', happened_at) from queue.audit"

        def count() -> dict[tuple[str, str], int]:
            with psycopg.connect(database.dsn) as connection:
                rows = connection.execute(query).fetchall()
            assert len(rows) <= 2 * len({(row[0], row[1]) for row in rows})  # a minute may end
            return {
                (interface, error): sum(row[2] for row in rows if row[:2] == (interface, error))
                for interface, error, *_ in rows
            }

        errors = ("AccessDenied",) if access == "sigv4" else ("AccessDenied", "MisdirectedRequest")
        expected = {(interface, error): 3 for interface in ("aws", "rest", "console") for error in errors}
        wait_until(lambda: count() == expected)


def test_health_answers_to_every_name(shared_database: Database) -> None:
    with running_service(shared_database.api_dsn, QUEUE_LOCALSTACK_HEALTH="true") as service, service.http() as http:
        for path in ("/livez", "/readyz", "/_localstack/health"):
            assert http.get(path, headers=EVIL).status_code == 200
        assert http.get("/v1/queues", headers=EVIL).status_code == 421


# --- forged credentials ----------------------------------------------------------------------------------------------
# Tests that the service refuses credentials that were never issued: unknown key ids, and bearer keys that are almost
# correct.
#
# The tests use a separate service, because an address with 50 failures in ten seconds has to wait (429). test_access.py
# tests good keys. If a request has to wait, the service refuses it.

ALLOWED, REFUSED = {200}, {401, 429}


class SignedInstallation(NamedTuple):
    """Holds a connection to the service, a signer with a queue, a valid bearer key, and forged keys."""

    connection: HTTPConnection
    signer: Signer
    bearer: str
    others: dict[str, str]

    def status(self, method: str, target: str, headers: tuple[tuple[str, str], ...], body: bytes = b"") -> int:
        self.connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in headers:
            self.connection.putheader(name, value.encode("latin-1"))
        self.connection.putheader("Content-Length", str(len(body)))
        self.connection.endheaders(body)
        response = self.connection.getresponse()
        response.read()
        return response.status

    def read_queues(self, attempt: Attempt) -> int:
        return self.status("GET", f"/v1/queues{attempt.query}", (("Host", self.signer.host), *attempt.headers))


@pytest.fixture(scope="module")
def installation(postgres: TestServer) -> Iterator[SignedInstallation]:
    with postgres.database() as database:
        keys = [new_key(database, account) for account in (OWNER, PARTNER)]
        with key_ring(database) as ring:
            good, revoked, expired = (ring.create(OWNER, "", bearer=True).token for _ in range(3))
        revoke(database, revoked.partition(".")[0])
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            connection.execute(
                "update queue.bearer_key set expires_at = now() - interval '1 s' where key_id = %s",
                (expired.partition(".")[0],),
            )
        others = {
            "revoked": revoked, "expired": expired,
            "another key's secret": f"{good.partition('.')[0]}.{revoked.partition('.')[2]}",
            "an access key": ".".join(keys[0]), "an access key's secret": f"{good.partition('.')[0]}.{keys[0][1]}",
        }  # fmt: skip
        with running_service(database.api_dsn, **SIGV4) as service:
            http = HTTPConnection(urlsplit(service.url).netloc, timeout=30)
            signer = Signer(service.url, f"{service.url}/{OWNER}/orders", f"/{OWNER}/bills", *keys)
            yield SignedInstallation(http, signer, good, others)
            http.close()


def test_the_key_itself_is_accepted(installation: SignedInstallation) -> None:
    """Without this test, the following tests would prove nothing, because every request could fail for another
    reason."""
    assert {installation.read_queues(attempt) for attempt in allowed(installation.bearer)} == ALLOWED


def test_no_other_bearer_key_is(installation: SignedInstallation) -> None:
    tried = list(forgeries(installation.bearer, installation.others))
    responses = [(attempt.name, installation.read_queues(attempt)) for attempt in tried]
    assert [response for response in responses if response[1] not in REFUSED] == []
    assert len({(attempt.headers, attempt.query) for attempt in tried}) == len(tried) >= 159
    assert installation.read_queues(next(allowed(installation.bearer))) == 200


def test_no_other_access_key_is(installation: SignedInstallation) -> None:
    """A request with a valid signature is answered with 400, because the queue does not exist."""

    def status(method: str, target: str, headers: tuple[tuple[str, str], ...], body: bytes) -> int:
        return installation.status(method, target, headers, body)

    assert status(*installation.signer.json()) == 400
    responses = [(name, status(*request)) for name, request in unknown_keys(installation.signer)]
    assert [response for response in responses if response[1] not in {403, 429}] == []
