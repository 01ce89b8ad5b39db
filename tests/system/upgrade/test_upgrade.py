"""Tests upgrades between two releases: a rolling upgrade under load, and two function versions on one schema."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock import __version__
from penstock_web.local.pgbouncer import running_pgbouncer
from penstock_web.local.postgres import Postgres, free_port, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.local.system_account import SystemAccount
from tests.support.database import Database, TestServer, memory_directory
from tests.support.programs.penstock_up import COMMAND, running
from tests.support.upgrade.customers import OTHERS, WANTED, Customers, called_by, results, set_up
from tests.support.upgrade.release import create_next, environment_of, name_version, unpack, unpack_next, version_of

# --- rolling ---------------------------------------------------------------------------------------------------------
# Tests a rolling upgrade under load: migrate, start new processes beside the old processes, stop the old processes.
#
# The old processes run the previous release's code (tests/support/upgrade/release.py). Clients notice only SDK retries.
# Every acknowledged message arrives. A FIFO queue's messages arrive once and in order.

WORKERS = 2
MESSAGES = 300  # The number of messages that the consumers delete from each queue in each phase.


@dataclass
class Fleet:
    """Represents one release's processes, which share a port (SO_REUSEPORT) like processes behind a load balancer."""

    port: int
    environment: Mapping[str, str]
    processes: list[subprocess.Popen[bytes]]

    def start(self, number: int) -> None:
        for _ in range(number):
            ready, ready_fd = os.pipe()
            address = ["--host", "127.0.0.1", "--port", str(self.port)]
            process = subprocess.Popen(
                [*COMMAND, "worker", *address, "--ready-fd", str(ready_fd)],
                stdin=subprocess.PIPE,
                pass_fds=[ready_fd],
                env=dict(self.environment),
            )
            self.processes.append(process)
            os.close(ready_fd)
            assert os.read(ready, 1) == b"1", "the processes did not start"
            os.close(ready)

    def stop_one(self) -> None:
        """Sends SIGTERM, and checks the exit status. The worker's standard input stays open, because its end would send
        a second SIGTERM."""
        process = self.processes.pop()
        process.terminate()
        assert process.wait(timeout=30) == 0
        process.communicate()

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()


@dataclass
class Installation:
    """Represents a database behind PgBouncer that starts with the previous release, and both releases' processes."""

    server: Postgres
    old: Fleet
    new: Fleet

    def migrate(self, fleet: Fleet) -> float:
        """Migrates with the processes' code. Returns the seconds."""
        began = time.monotonic()
        subprocess.run([*COMMAND, "migrate"], env=dict(fleet.environment), check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - began

    def functions(self) -> str:
        with psycopg.connect(self.server.service_dsn()) as connection:
            row = connection.execute("select name from queue.migration where number = 0").fetchone()
        assert row is not None
        return str(row[0])


@contextmanager
def installed(release: Path, following: Path) -> Iterator[Installation]:
    with ExitStack() as stack:
        state = stack.enter_context(ephemeral_state(memory_directory()))
        server = stack.enter_context(running_postgres(state, SystemAccount.choose()))
        pooler = stack.enter_context(running_pgbouncer(state, server))
        port = free_port()
        addresses = {"DATABASE_URL": pooler.dsn(), "DATABASE_DIRECT_URL": server.service_dsn()}
        old = Fleet(port, {**environment_of(release), **addresses}, [])
        new = Fleet(port, {**environment_of(following), **addresses}, [])
        for fleet in (old, new):
            stack.callback(fleet.kill)
        yield Installation(server, old, new)


def subscribe(customers: Customers, topic: str) -> list[str]:
    """Subscribes both queues with filter policies. Returns the subscriptions' ARNs."""
    sns = customers.client("sns")
    return [
        sns.subscribe(
            TopicArn=topic,
            Protocol="sqs",
            Endpoint=f"arn:aws:sqs:us-east-1:000000000000:{queue}",
            Attributes={"RawMessageDelivery": "true", "FilterPolicy": json.dumps(policy)},
        )["SubscriptionArn"]
        for queue, policy in (("wanted", WANTED), ("others", OTHERS))
    ]


def administer(customers: Customers, topic: str, subscriptions: list[str]) -> None:
    """Calls actions whose SQL functions have changed since the last release. The actions must work with either
    release's code.
    """
    sns: Any = customers.client("sns")
    assert subscribe(customers, topic) == subscriptions
    sns.set_topic_attributes(TopicArn=topic, AttributeName="DisplayName", AttributeValue="News")
    assert sns.get_topic_attributes(TopicArn=topic)["Attributes"]["DisplayName"] == "News"
    for arn, policy in zip(subscriptions, (WANTED, OTHERS), strict=True):
        sns.set_subscription_attributes(
            SubscriptionArn=arn, AttributeName="FilterPolicy", AttributeValue=json.dumps(policy)
        )


@pytest.mark.slow
def test_nothing_fails_and_nothing_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    previous = unpack(tmp_path / "previous")
    following = unpack_next(tmp_path / "next", previous)
    with installed(previous, following) as installation:
        installation.migrate(installation.old)
        installation.old.start(WORKERS)
        customers = Customers(f"http://127.0.0.1:{installation.old.port}")
        topic = set_up(customers)
        subscriptions = subscribe(customers, topic)
        before = installation.functions()
        with customers.busy():
            customers.progress(MESSAGES)
            seconds = installation.migrate(installation.new)
            assert before != installation.functions() == f"functions {version_of(following)}"
            customers.progress(MESSAGES)
            administer(customers, topic, subscriptions)
            customers.progress(MESSAGES)
            installation.new.start(WORKERS)
            customers.generation += 1
            customers.progress(MESSAGES)
            for _ in range(WORKERS):
                installation.old.stop_one()
                customers.progress(MESSAGES)
            administer(customers, topic, subscriptions)
            customers.progress(MESSAGES)
    check(customers)
    with capsys.disabled():
        sys.stdout.write(f"\nmigrated in {seconds:.1f} s; {dict(customers.tally)}\n")


def check(customers: Customers) -> None:
    """Checks that no request failed, and that no message was lost, invented, duplicated or reordered."""
    assert customers.errors == []
    for name, ledger in customers.ledgers.items():
        findings = ledger.findings()
        assert (name, findings.violations, findings.unknown_sends) == (name, {}, 0)
    assert sum(ledger.findings().sent for ledger in customers.ledgers.values()) == customers.tally["sent"]


# --- versions --------------------------------------------------------------------------------------------------------
# Tests two releases with the same migrations and different functions: the older release never restores its functions.
#
# Migrations run first, so the previous release must also work on the new schema.

# The function in which the two releases differ.
FUNCTION = """\
-- queue.told_release: which release it is of. SQL interface.
create or replace function queue.told_release() returns text language sql as $$ select '{}' $$;
"""
NEWER = f"{__version__}.post1"


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Returns two copies of this tree by version: unchanged, and as a later release."""
    folders = {version: tmp_path_factory.mktemp("release") for version in (__version__, NEWER)}
    for version, folder in folders.items():
        name_version(unpack(folder, commit=""), version)
        (folder / "sql/functions/queue.told_release.sql").write_text(FUNCTION.format(version))
    return folders


def migrate(folder: Path, database: Database) -> tuple[str, str]:
    """Runs a release's `penstock migrate`. Returns standard output and standard error."""
    variables = {**environment_of(folder), "DATABASE_URL": database.api_dsn, "DATABASE_DIRECT_URL": ""}
    command = [*COMMAND, "migrate"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def functions(database: Database) -> tuple[str, str]:
    """Returns the release of the installed functions, and the recorded release."""
    with psycopg.connect(database.dsn) as connection:
        (told,) = connection.execute("select queue.told_release()").fetchall()[0]
        (recorded,) = connection.execute("select name from queue.migration where number = 0").fetchall()[0]
    return told, recorded


def test_a_newer_release_brings_its_functions(database: Database, releases: dict[str, Path]) -> None:
    assert migrate(releases[__version__], database) == ("functions and grants applied\n", "")
    assert functions(database) == (__version__, f"functions {__version__}")
    assert migrate(releases[NEWER], database) == ("functions and grants applied\n", "")
    assert functions(database) == (NEWER, f"functions {NEWER}")


def test_an_older_release_that_starts_later_leaves_them_and_says_so(
    database: Database, releases: dict[str, Path]
) -> None:
    """During a rollout, an old image's task starts and runs `penstock migrate` or `penstock up`."""
    migrate(releases[NEWER], database)
    warning = (
        f"penstock: warning: the database keeps the functions of release {NEWER}: "
        f"this is the older release {__version__}\n"
    )
    assert migrate(releases[__version__], database) == ("functions and grants unchanged\n", warning)
    assert functions(database) == (NEWER, f"functions {NEWER}")
    old = environment_of(releases[__version__])["PYTHONPATH"]
    with running(DATABASE_URL=database.api_dsn, PYTHONPATH=old) as up:
        assert up.is_alive()
        assert warning in up.log()
    assert functions(database) == (NEWER, f"functions {NEWER}")


def test_the_same_release_has_nothing_to_say(database: Database, releases: dict[str, Path]) -> None:
    migrate(releases[NEWER], database)
    assert migrate(releases[NEWER], database) == ("functions and grants unchanged\n", "")


Results = dict[str, list[str] | None]


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("previous"))


@pytest.fixture(scope="module")
def calls(previous: Path) -> list[str]:
    return called_by(previous)


@pytest.fixture(scope="module")
def before(postgres: TestServer, previous: Path, calls: list[str]) -> Results:
    """Returns the previous release's results on the previous release's schema."""
    with postgres.database(template="template0") as database:
        return after_migration(database, previous, calls)


def after_migration(database: Database, release: Path, calls: list[str]) -> Results:
    """Returns the same calls' results after the migration."""
    environment = {**environment_of(release), "DATABASE_URL": database.api_dsn, "DATABASE_DIRECT_URL": ""}
    subprocess.run([*COMMAND, "migrate"], env=environment, check=True, stdout=subprocess.DEVNULL)
    with psycopg.connect(database.dsn) as connection:
        return dict(results(connection, calls))


def test_the_schema_has_every_function_that_the_release_calls(
    empty_database: Database, tmp_path: Path, previous: Path, calls: list[str], before: Results
) -> None:
    assert before
    assert None not in before.values()
    after_migration(empty_database, previous, calls)
    assert after_migration(empty_database, unpack_next(tmp_path, previous), calls) == before


def test_a_former_function_that_is_missing_is_found(empty_database: Database, tmp_path: Path) -> None:
    release = unpack(tmp_path / "release", commit="")
    following = create_next(tmp_path / "next", release)
    shutil.rmtree(following / "sql/former")
    found = after_migration(empty_database, following, called_by(release))
    missing = [call for call, columns in found.items() if columns is None]
    assert len(missing) == 1
    assert "queue.change_topic(" in missing[0]


def test_a_release_is_made_of_any_commit(empty_database: Database, tmp_path: Path) -> None:
    """A release from this checkout's commit works like a copy of the checkout."""
    release = unpack(tmp_path, "HEAD")
    assert None not in after_migration(empty_database, release, called_by(release)).values()
