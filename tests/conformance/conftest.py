"""The fixture `sqs` runs every scenario over {container, Lambda} x {JSON, Query}, with one installation for each
process. Tests with the marker `cbor` also run in CBOR.

Tests share the installation, but not queues: `sqs.create()` creates a new queue.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

import httpx
import pytest

from penstock.settings import Settings
from penstock_web.cli.key_ring import KeyRing
from tests.support.conformance.access_keys import OWNER, PARTNER, new_key
from tests.support.conformance.database_clock import Clock
from tests.support.conformance.deployments import DEPLOYMENTS, Deployments
from tests.support.conformance.events import Events
from tests.support.conformance.requests import Raw
from tests.support.conformance.scheduler import Scheduler
from tests.support.conformance.sns import Sns
from tests.support.conformance.sqs import Sqs
from tests.support.database import Database, TestServer
from tests.support.functions.server import Functions

PROTOCOLS = ("json", "query")


@pytest.fixture(scope="session")
def installation(postgres: TestServer) -> Iterator[Database]:
    """Returns the database of both deployments.

    The key for SNS messages is not encrypted, so that deployments with and without QUEUE_ENCRYPTION_KEY can use it.
    """
    with postgres.database() as database:
        with KeyRing.open(Settings.read({"DATABASE_URL": database.api_dsn})) as ring:
            list(ring.rotate_signing())
        yield database


@pytest.fixture(scope="session")
def clock(installation: Database) -> Iterator[Clock]:
    with closing(Clock(installation.dsn)) as clock:
        yield clock


@pytest.fixture(scope="session")
def deployments(installation: Database) -> Iterator[Deployments]:
    with ExitStack() as stack:
        yield Deployments(installation, stack)


@pytest.fixture(scope="module")
def functions(deployments: Deployments) -> Iterator[Functions]:
    """Returns the Lambda functions, which tests invoke with events."""
    with Functions(deployments.database.pooled_dsn) as functions:
        yield functions


# The test clock locks whole tables to move time. autovacuum then cancels its work on such a table and logs the
# cancellation.
CLOCK_AT_WORK = "ERROR:  canceling autovacuum task"
# A process logs QU010 when it finds the first long message of a queue (docs/explain/internals.md). QU010 is not an
# error.
LONG_MESSAGE = "ERROR:  a message is so long that the response has to be measured"
# A service that stops cancels the running query of a worker.
CANCELLED = "ERROR:  canceling statement due to user request"
# On a busy machine, a worker waits too long for a lock. The client of a request would get status 503.
BUSY = "ERROR:  canceling statement due to lock timeout"
HARMLESS = (CLOCK_AT_WORK, LONG_MESSAGE, CANCELLED, BUSY)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Gives the fixtures `sqs` and `scheduler` their deployments and protocols, unless the test names them."""
    in_cbor = [f"{name}-cbor" for mark in metafunc.definition.iter_markers("cbor") for name in mark.args]
    forms = {
        "sqs": [f"{deployment}-{protocol}" for deployment in DEPLOYMENTS for protocol in PROTOCOLS],
        "scheduler": list(DEPLOYMENTS),
    }
    named = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    for fixture, params in forms.items():
        if fixture in metafunc.fixturenames and fixture not in named and takes_forms(metafunc, fixture):
            metafunc.parametrize(fixture, [*params, *in_cbor], indirect=True)


def takes_forms(metafunc: pytest.Metafunc, fixture: str) -> bool:
    """Returns whether the test uses the fixture of this file, and no module's own fixture of the same name."""
    found = metafunc.definition._fixtureinfo.name2fixturedefs[fixture][-1]
    return found.func.__code__.co_filename == __file__


@pytest.fixture
def sqs(request: pytest.FixtureRequest, deployments: Deployments, clock: Clock) -> Sqs:
    """Returns an SQS client for one deployment and one protocol."""
    deployment, _, protocol = request.param.partition("-")
    return Sqs(deployments, clock, deployment, protocol)


@pytest.fixture
def sns(sqs: Sqs) -> Sns:
    """Returns an SNS client for the same deployment, protocol and caller."""
    return Sns(sqs)


@pytest.fixture
def scheduler(request: pytest.FixtureRequest, deployments: Deployments, clock: Clock) -> Scheduler:
    """Returns a client of EventBridge Scheduler, in REST-JSON or CBOR, for each deployment."""
    deployment, _, protocol = request.param.partition("-")
    return Scheduler(Sqs(deployments, clock, deployment, protocol or "json"))


@pytest.fixture(params=DEPLOYMENTS)
def events(request: pytest.FixtureRequest, deployments: Deployments, clock: Clock) -> Iterator[Events]:
    """Returns a client of the event bus, which has one protocol, for each deployment.

    An account can have few buses, so each test deletes what it created.
    """
    client = Events(Sqs(deployments, clock, request.param, "json"))
    yield client
    client.clear()


@pytest.fixture(scope="module", autouse=True)
def clean_log(postgres: TestServer) -> Iterator[None]:
    """Asserts that PostgreSQL logs no error, because the service must refuse invalid input before it reaches the
    database."""
    log = postgres.server.data.parent / "log"
    start = log.stat().st_size
    yield
    lines = log.read_bytes()[start:].decode().splitlines()
    errors = [number for number, line in enumerate(lines) if "ERROR:" in line]
    # PostgreSQL logs the failed statement in the next lines.
    assert [
        lines[number : number + 4] for number in errors if not any(text in lines[number] for text in HARMLESS)
    ] == []


@pytest.fixture(scope="session")
def keys(installation: Database) -> dict[str, tuple[str, str]]:
    """Returns one key of each account."""
    return {account: new_key(installation, account) for account in (OWNER, PARTNER)}


@pytest.fixture(params=DEPLOYMENTS)
def raw(request: pytest.FixtureRequest, deployments: Deployments, clock: Clock) -> Iterator[Raw]:
    """Returns one deployment, to which tests send raw bytes."""
    # The connection does not use TLS, so the client verifies no certificate. Loading the certificate authorities takes
    # 20 ms for each client.
    with httpx.Client(timeout=40, verify=False) as http:
        yield Raw(Sqs(deployments, clock, request.param, "json"), http)
