"""The fixture `sqs`: every scenario runs over {container, Lambda} x {JSON, Query}, on one installation a process.

Tests share the installation and never a queue: `sqs.create()` makes one of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

import httpx
import pytest

from tests.conformance.access import OWNER, PARTNER, new_key
from tests.conformance.clock import Clock
from tests.conformance.doors import DOORS, Doors
from tests.conformance.raw import Raw
from tests.conformance.scenario import Sqs
from tests.conformance.scheduler import Scheduler
from tests.conformance.topics import Sns
from tests.database import Database, TestServer
from tests.lambda_door import Functions

PROTOCOLS = ("json", "query")


@pytest.fixture(scope="session")
def installation(postgres: TestServer) -> Iterator[Database]:
    """The database that both doors work on."""
    with postgres.database() as database:
        yield database


@pytest.fixture(scope="session")
def clock(installation: Database) -> Iterator[Clock]:
    with closing(Clock(installation.dsn)) as clock:
        yield clock


@pytest.fixture(scope="session")
def doors(installation: Database) -> Iterator[Doors]:
    with ExitStack() as stack:
        yield Doors(installation, stack)


@pytest.fixture(scope="module")
def functions(doors: Doors) -> Iterator[Functions]:
    """The Lambda functions, to be invoked with events."""
    with Functions(doors.database.pooled_dsn) as functions:
        yield functions


# The test clock locks whole tables to move time; autovacuum, which is at one of them then, steps aside and says so.
CLOCK_AT_WORK = "ERROR:  canceling autovacuum task"


@pytest.fixture(params=[f"{door}-{protocol}" for door in DOORS for protocol in PROTOCOLS])
def sqs(request: pytest.FixtureRequest, doors: Doors, clock: Clock) -> Sqs:
    """One door in one protocol."""
    door, _, protocol = request.param.partition("-")
    return Sqs(doors, clock, door, protocol)


@pytest.fixture
def sns(sqs: Sqs) -> Sns:
    """SNS at the same door, in the same protocol, for the same caller."""
    return Sns(sqs)


@pytest.fixture(params=DOORS)
def scheduler(request: pytest.FixtureRequest, doors: Doors, clock: Clock) -> Scheduler:
    """EventBridge Scheduler at each door; it has one protocol."""
    return Scheduler(Sqs(doors, clock, request.param, "json"))


@pytest.fixture(scope="module", autouse=True)
def _clean_log(postgres: TestServer) -> Iterator[None]:
    """Whatever a client sends, PostgreSQL has no error to write down: bad input is refused before or is data."""
    log = postgres.server.data.parent / "log"
    start = log.stat().st_size
    yield
    written = log.read_bytes()[start:].decode()
    errors = [line for line in written.splitlines() if "ERROR:" in line]
    assert [line for line in errors if not line.endswith(CLOCK_AT_WORK)] == []


@pytest.fixture(scope="session")
def keys(installation: Database) -> dict[str, tuple[str, str]]:
    """A key of each account."""
    return {account: new_key(installation, account) for account in (OWNER, PARTNER)}


@pytest.fixture(params=DOORS)
def raw(request: pytest.FixtureRequest, doors: Doors, clock: Clock) -> Iterator[Raw]:
    """One door, for bytes."""
    # Unverified, since plain: loading the certificate authorities takes 20 ms a client.
    with httpx.Client(timeout=40, verify=False) as http:
        yield Raw(Sqs(doors, clock, request.param, "json"), http)
