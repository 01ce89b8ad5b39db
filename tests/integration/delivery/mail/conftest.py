"""Provides a mail server, a database and a worker."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from penstock.delivery import run as run_module
from penstock.settings import Settings, Value
from penstock.workers import Counts
from penstock.workers.deliver import Deliverer
from tests.support.database import Database
from tests.support.mail.server import MailServer, running_mail_server

SENDER = "Penstock <no-reply@example.com>"
Deliver = Callable[..., Counts]


@pytest.fixture
def mail_server() -> Iterator[MailServer]:
    with running_mail_server() as server:
        yield server


@pytest.fixture
def deliver(database: Database, mail_server: MailServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deliver]:
    """Runs a worker that sends mails until no mail is due: `deliver(sns_smtp_url=…)`."""
    monkeypatch.setattr(run_module, "WAIT_FOR_MORE_MS", 0)
    with psycopg.connect(database.pooled_dsn, autocommit=True, prepare_threshold=None) as connection:

        def run(**overrides: Value) -> Counts:
            usual: dict[str, Value] = {"sns_smtp_url": mail_server.url(), "sns_mail_from": SENDER}
            return Deliverer(longest_run_seconds=60).run_once(Settings.read({}, **(usual | overrides)), connection)

        yield run
