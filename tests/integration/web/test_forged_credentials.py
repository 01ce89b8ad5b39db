"""The service refuses credentials that were never issued: unknown key ids, and bearer keys that are almost right.

The tests use a separate service, because an address that fails 50 times in ten seconds has to wait (429).
test_access.py tests good keys. A request that has to wait is refused.
"""

from collections.abc import Iterator
from http.client import HTTPConnection
from typing import NamedTuple
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.support.conformance.access_keys import OWNER, PARTNER, SIGV4, key_ring, new_key, revoke
from tests.support.database import TestServer
from tests.support.hostile.signatures.altered import unknown_keys
from tests.support.hostile.signatures.bearer_keys import Attempt, allowed, forgeries
from tests.support.hostile.signatures.signing import Signer
from tests.support.programs.penstock_service import running_service

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
        answer = self.connection.getresponse()
        answer.read()
        return answer.status

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
    """Without this test, the tests below would prove nothing."""
    assert {installation.read_queues(attempt) for attempt in allowed(installation.bearer)} == ALLOWED


def test_no_other_bearer_key_is(installation: SignedInstallation) -> None:
    tried = list(forgeries(installation.bearer, installation.others))
    answers = [(attempt.name, installation.read_queues(attempt)) for attempt in tried]
    assert [answer for answer in answers if answer[1] not in REFUSED] == []
    assert len({(attempt.headers, attempt.query) for attempt in tried}) == len(tried) >= 159
    assert installation.read_queues(next(allowed(installation.bearer))) == 200


def test_no_other_access_key_is(installation: SignedInstallation) -> None:
    """A valid signature gets a 400, because the queue does not exist."""

    def status(method: str, target: str, headers: tuple[tuple[str, str], ...], body: bytes) -> int:
        return installation.status(method, target, headers, body)

    assert status(*installation.signer.json()) == 400
    answers = [(name, status(*request)) for name, request in unknown_keys(installation.signer)]
    assert [answer for answer in answers if answer[1] not in {403, 429}] == []
