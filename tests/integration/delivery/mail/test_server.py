"""Tests the way to the mail server: TLS, logins, slow or missing servers, lost answers, and killed workers.

The sources are RFC 3207 (STARTTLS), RFC 4954 (AUTH), and RFC 5321, 4.5.3.2 (waits) and 4.2.1. A login needs TLS,
which is Penstock's choice.
"""

import logging
import os
import signal
import ssl
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.delivery.mail import carrier as carrier_module
from penstock.settings import Settings
from penstock.workers.deliver import Deliverer
from tests.integration.delivery.mail.conftest import SENDER, Deliver
from tests.support.database import Database
from tests.support.delivery.rows import deliveries, due_in_seconds, number, pass_time
from tests.support.mail.server import MailServer, make_topic, publish, running_mail_server, states, subscribe
from tests.support.sql.calls import Connection
from tests.support.tls.certificates import Authority
from tests.support.wait import wait_until

LOGIN = "user%40example.com:pass%20word%40@"
LEASE_SECONDS = 30
SESSIONS_OF_OTHERS = """
    select count(*) from pg_stat_activity
    where datname = current_database() and usename = current_user and pid <> pg_backend_pid()"""


@pytest.fixture
def certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """Returns the TLS context of a server at 127.0.0.1. This process trusts the server's authority."""
    authority = Authority()
    made = authority.server("127.0.0.1")
    trusted, own = tmp_path / "authority.pem", tmp_path / "server.pem"
    trusted.write_text(authority.pem)
    own.write_text(made.certificate + made.key)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own)
    return context


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_tls_and_a_login(db: Connection, deliver: Deliver, certified: ssl.SSLContext, scheme: str) -> None:
    publish(db, subscribe(db, make_topic(db), "reader@example.com"), "m")
    contexts = {"tls": certified} if scheme == "smtps" else {"starttls": certified}
    with running_mail_server(**contexts) as server:
        assert deliver(sns_smtp_url=server.url(LOGIN, scheme))["delivered"] == 1
        assert [mail.user for mail in server.received] == ["user@example.com"]


def test_no_password_without_tls(
    db: Connection, deliver: Deliver, mail_server: MailServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The account sees no facts about the server. The log names the server without the password."""
    publish(db, subscribe(db, make_topic(db), "reader@example.com"), "m")
    with caplog.at_level(logging.WARNING):
        assert deliver(sns_smtp_url=mail_server.url(LOGIN))["retried"] == 1
    assert mail_server.received == []
    assert deliveries(db)[0].last_error == "the mail server cannot be used at present"
    logged = "".join(str(record.__dict__) for record in caplog.records)
    assert f"127.0.0.1:{mail_server.port}" in logged
    assert "pass" not in logged


def test_a_certificate_of_somebody_else(
    db: Connection, deliver: Deliver, certified: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    publish(db, subscribe(db, make_topic(db), "reader@example.com"), "m")
    with running_mail_server(starttls=certified) as server:
        assert deliver(sns_smtp_url=server.url())["retried"] == 1
        assert server.received == []


def test_a_wrong_password(db: Connection, deliver: Deliver, certified: ssl.SSLContext) -> None:
    """The fault is the operator's, so the worker keeps the message and does not count the failure against the
    address.
    """
    publish(db, subscribe(db, make_topic(db), "reader@example.com"), "m")
    with running_mail_server(starttls=certified) as server:
        assert deliver(sns_smtp_url=server.url("user:wrong@"))["retried"] == 1
        assert deliver(sns_smtp_url=server.url(LOGIN))["delivered"] == 0
        pass_time(db, 11)
        assert deliver(sns_smtp_url=server.url(LOGIN))["delivered"] == 1


def test_a_sender_that_is_refused(db: Connection, deliver: Deliver, mail_server: MailServer) -> None:
    mail_server.sender_reply = "550 5.7.1 not yours"
    publish(db, subscribe(db, make_topic(db), "reader@example.com"), "m")
    assert deliver()["retried"] == 1
    assert deliveries(db)[0].last_error == "the mail server refuses the sender at present"
    assert number(db, "select mail_refusals from queue.subscription") == 0


def test_a_server_that_is_gone(db: Connection, deliver: Deliver) -> None:
    """No mail is lost. After 20 failures the account's mails wait together."""
    topic = make_topic(db)
    with running_mail_server() as server:
        url = server.url()
    for reader in range(25):
        publish(db, subscribe(db, topic, f"reader{reader}@example.com"), "m")
    assert deliver(sns_smtp_url=url)["retried"] == 20
    assert number(db, "select count(*) from queue.delivery_endpoint where paused_until is not null") == 1
    assert {state for state, _ in states(db)} == {"waiting"}
    pass_time(db, 3 * 3600)  # a URL would wait this long
    deliver(sns_smtp_url=url)
    assert {state for state, _ in states(db)} == {"waiting"}
    pass_time(db, 7 * 3600)
    assert deliver(sns_smtp_url=url)["exhausted"] > 0


def test_a_name_without_address(db: Connection, deliver: Deliver) -> None:
    publish(db, subscribe(db, make_topic(db), "reader@example.com"), "m")
    assert deliver(sns_smtp_url="smtp://mail.invalid")["retried"] == 1


# --- answers that are late or lost -----------------------------------------------------------------------------------
def test_an_answer_that_is_lost(db: Connection, deliver: Deliver, mail_server: MailServer) -> None:
    """The server has accepted the mail, but its reply was lost. The worker sends the mail again later with the same
    Message-ID.
    """
    publish(db, subscribe(db, make_topic(db), "lost@example.com"), "m")
    assert deliver()["retried"] == 1
    assert round(due_in_seconds(db)[0]) == 600
    assert "may have the mail" in str(deliveries(db)[0].last_error)
    pass_time(db, 601)
    assert deliver()["delivered"] == 1
    first, second = mail_server.received
    assert first.message["Message-ID"] == second.message["Message-ID"]


def test_a_server_that_never_answers_gets_five_copies(
    db: Connection, deliver: Deliver, mail_server: MailServer
) -> None:
    topic = make_topic(db)
    publish(db, subscribe(db, topic, "deaf@example.com"), "m")
    publish(db, subscribe(db, topic, "reader@example.com"), "m")
    for attempt in range(5):
        counts = deliver()
        assert counts["delivered"] == (attempt == 0)
        assert (counts["retried"], counts["exhausted"]) == ((1, 0) if attempt < 4 else (0, 1))
        pass_time(db, 601)
    assert len(mail_server.to("deaf@example.com")) == 5
    assert [state for state, _ in states(db)] == ["failed", "sent"]


def test_a_slow_server_is_not_waited_for(
    db: Connection, deliver: Deliver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attempt ends in time in every state of the conversation."""
    monkeypatch.setattr(carrier_module, "ATTEMPT_SECONDS", 0.2)
    publish(db, subscribe(db, make_topic(db), "slow@example.com"), "m")
    assert deliver()["retried"] == 1


@pytest.fixture
def workers(database: Database, mail_server: MailServer) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Runs a worker process. `start` replaces a killed worker."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()


def test_nothing_is_lost_when_workers_are_killed(
    db: Connection, database: Database, mail_server: MailServer, workers: list[subprocess.Popen[bytes]]
) -> None:
    """kill -9 comes while the server has mails and has not answered. The workers send only those mails twice."""
    topic = make_topic(db)
    for reader in range(5):
        publish(db, subscribe(db, topic, f"slow+{reader}@example.com"), "m")
        publish(db, subscribe(db, topic, f"greylisted+{reader}@example.com"), "m")
        publish(db, subscribe(db, topic, f"reader+{reader}@example.com"), "m")
        publish(db, subscribe(db, topic, f"refused+{reader}@example.com"), "m")
    env = {**os.environ, "SNS_SMTP_URL": mail_server.url(), "SNS_MAIL_FROM": SENDER}
    command = [sys.executable, "-m", "tests.support.programs.webhook_worker", database.api_dsn]
    for kill in range(2):
        workers.append(subprocess.Popen(command, env=env))
        wait_until(lambda kill=kill: slow_ones(mail_server) >= 5 * (kill + 1))  # type: ignore[misc]
        os.kill(workers[-1].pid, signal.SIGKILL)
        workers[-1].wait()
        # Until then, the killed worker's session locks its rows.
        wait_until(lambda: not number(db, SESSIONS_OF_OTHERS))
        pass_time(db, LEASE_SECONDS + 1)
    mail_server.release.set()
    settings = Settings.read(env)
    while number(db, "select count(*) from queue.outgoing where state = 'waiting'"):
        Deliverer(longest_run_seconds=1).run_once(settings, db)
        pass_time(db, LEASE_SECONDS + 1)
    copies = Counter(mail.recipients[0] for mail in mail_server.received)
    expected = {f"{name}+{n}@example.com" for name in ("slow", "greylisted", "reader") for n in range(5)}
    assert set(copies) == expected
    assert {copies[f"slow+{n}@example.com"] for n in range(5)} == {3}
    assert Counter(state for state, _ in states(db)) == {"sent": 15, "failed": 5}


def slow_ones(server: MailServer) -> int:
    return sum(mail.recipients[0].startswith("slow") for mail in server.received)
