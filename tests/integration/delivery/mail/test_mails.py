"""Tests e-mail with a real mail server: messages, their outcomes, TLS, logins, slow servers, and killed workers.

The sources for messages are "Amazon SNS message delivery retries", "Amazon SNS dead-letter queues" and "Email
notifications" (SNS Developer Guide), a mail of AWS in pull request 102 of librato/librato-services, RFC 2369 and RFC
8058. The sources for the connection are RFC 3207 (STARTTLS), RFC 4954 (AUTH), and RFC 5321. docs/reference/email.md
describes Penstock's choices: a login needs TLS, a limit applies to refusals by an address, and repeated responses count
once.
"""

import json
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
from tests.support.mail.server import (
    LINK,
    REPLIES,
    MailServer,
    create_topic,
    publish,
    running_mail_server,
    states,
    subscribe,
)
from tests.support.sql.calls import ACCOUNT, REGION, Connection, create, receive
from tests.support.tls.certificates import Authority
from tests.support.wait import wait_until

pytestmark = pytest.mark.emptied

LOGIN = "user%40example.com:pass%20word%40@"
LEASE_SECONDS = 30
SESSIONS_OF_OTHERS = """
    select count(*) from pg_stat_activity
    where datname = current_database() and usename = current_user and pid <> pg_backend_pid()"""


@pytest.fixture
def certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """Returns a TLS context for a server at 127.0.0.1. The test's process trusts the certificate authority of the
    server."""
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
    publish(db, subscribe(db, create_topic(db), "reader@example.com"), "m")
    contexts = {"tls": certified} if scheme == "smtps" else {"starttls": certified}
    with running_mail_server(**contexts) as server:
        assert deliver(sns_smtp_url=server.url(LOGIN, scheme))["delivered"] == 1
        assert [mail.user for mail in server.received] == ["user@example.com"]


def test_no_password_without_tls(
    db: Connection, deliver: Deliver, mail_server: MailServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The account cannot see the server's address or error. The log names the server without the password."""
    publish(db, subscribe(db, create_topic(db), "reader@example.com"), "m")
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
    publish(db, subscribe(db, create_topic(db), "reader@example.com"), "m")
    with running_mail_server(starttls=certified) as server:
        assert deliver(sns_smtp_url=server.url())["retried"] == 1
        assert server.received == []


def test_a_wrong_password(db: Connection, deliver: Deliver, certified: ssl.SSLContext) -> None:
    """The operator caused the failure, so the worker keeps the message and does not count the failure as a refusal by
    the address."""
    publish(db, subscribe(db, create_topic(db), "reader@example.com"), "m")
    with running_mail_server(starttls=certified) as server:
        assert deliver(sns_smtp_url=server.url("user:wrong@"))["retried"] == 1
        assert deliver(sns_smtp_url=server.url(LOGIN))["delivered"] == 0
        pass_time(db, 11)
        assert deliver(sns_smtp_url=server.url(LOGIN))["delivered"] == 1


def test_a_sender_that_is_refused(db: Connection, deliver: Deliver, mail_server: MailServer) -> None:
    mail_server.sender_reply = "550 5.7.1 not yours"
    publish(db, subscribe(db, create_topic(db), "reader@example.com"), "m")
    assert deliver()["retried"] == 1
    assert deliveries(db)[0].last_error == "the mail server refuses the sender at present"
    assert number(db, "select mail_refusals from queue.subscription") == 0


def test_a_server_that_is_gone(db: Connection, deliver: Deliver) -> None:
    """The service loses no mail. After 20 failures, the account's mails wait together."""
    topic = create_topic(db)
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
    publish(db, subscribe(db, create_topic(db), "reader@example.com"), "m")
    assert deliver(sns_smtp_url="smtp://mail.invalid")["retried"] == 1


# --- responses that are late or lost ----------------------------------------------------------------------------------
def test_a_response_that_is_lost(db: Connection, deliver: Deliver, mail_server: MailServer) -> None:
    """The server accepted the mail, but the worker did not receive the reply. The worker later sends the mail again
    with the same Message-ID."""
    publish(db, subscribe(db, create_topic(db), "lost@example.com"), "m")
    assert deliver()["retried"] == 1
    assert round(due_in_seconds(db)[0]) == 600
    assert "may have accepted the mail" in str(deliveries(db)[0].last_error)
    pass_time(db, 601)
    assert deliver()["delivered"] == 1
    first, second = mail_server.received
    assert first.message["Message-ID"] == second.message["Message-ID"]


def test_a_server_that_never_answers_gets_five_copies(
    db: Connection, deliver: Deliver, mail_server: MailServer
) -> None:
    topic = create_topic(db)
    publish(db, subscribe(db, topic, "deaf@example.com"), "m")
    publish(db, subscribe(db, topic, "reader@example.com"), "m")
    for attempt in range(5):
        counts = deliver()
        assert counts["delivered"] == (attempt == 0)
        assert (counts["retried"], counts["exhausted"]) == ((1, 0) if attempt < 4 else (0, 1))
        pass_time(db, 601)
    assert len(mail_server.to("deaf@example.com")) == 5
    assert [state for state, _ in states(db)] == ["failed", "sent"]


def test_a_slow_server_is_not_waited_for(db: Connection, deliver: Deliver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attempt times out in every state of the SMTP session."""
    monkeypatch.setattr(carrier_module, "ATTEMPT_SECONDS", 0.2)
    publish(db, subscribe(db, create_topic(db), "slow@example.com"), "m")
    assert deliver()["retried"] == 1


@pytest.fixture
def workers(database: Database, mail_server: MailServer) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Yields a function that starts a worker process, or replaces a killed one."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()


def test_nothing_is_lost_when_workers_are_killed(
    db: Connection, database: Database, mail_server: MailServer, workers: list[subprocess.Popen[bytes]]
) -> None:
    """The test sends SIGKILL while the server holds mails that it has not answered. The workers send only these
    unanswered mails twice."""
    topic = create_topic(db)
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
        # The session of the killed worker holds locks on its rows until the session ends.
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


ATTRIBUTES = {"a": {"DataType": "String", "StringValue": "b"}}


def test_a_notification(db: Connection, deliver: Deliver, mail_server: MailServer) -> None:
    reader = subscribe(db, create_topic(db, DisplayName="The news"), "reader@example.com")
    message_id = publish(db, reader, "Grüße\n.\nend", "News")
    assert deliver()["delivered"] == 1
    (mail,) = mail_server.received
    found = mail.message
    assert (mail.sender, mail.recipients) == ("no-reply@example.com", ["reader@example.com"])
    assert str(found["From"]) == "The news <no-reply@example.com>"
    assert (str(found["To"]), str(found["Subject"])) == ("reader@example.com", "News")
    assert found.get_content_type() == "text/plain"
    assert mail.text == (
        "Grüße\n.\nend\n\n--\nIf you wish to stop receiving notifications from this topic, please click or visit the"
        f" link below to unsubscribe:\n{LINK}{reader}\n\nPlease do not reply directly to this email.\n"
    )
    assert found["List-Unsubscribe"] == f"<{LINK}{reader}>"
    assert found["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert found["Auto-Submitted"] == "auto-generated"
    assert str(message_id) in found["Message-ID"]
    assert found["Date"].datetime is not None
    assert max(len(line) for line in mail.raw.split(b"\r\n")) <= 998
    assert (states(db), deliveries(db)) == ([("sent", None)], [])


def test_an_envelope(db: Connection, deliver: Deliver, mail_server: MailServer) -> None:
    """For `email-json`, the text of the mail is the envelope. The default subject equals the subject of AWS's mails."""
    reader = subscribe(db, create_topic(db), "reader@example.com", "email-json")
    envelope = json.dumps({"Type": "Notification", "Message": "x" * 200_000})
    publish(db, reader, envelope)
    assert deliver()["delivered"] == 1
    (mail,) = mail_server.received
    assert json.loads(mail.text) == json.loads(envelope)
    assert str(mail.message["Subject"]) == "AWS Notification Message"
    assert str(mail.message["From"]) == "Penstock <no-reply@example.com>"
    assert mail.message["List-Unsubscribe"] == f"<{LINK}{reader}>"


def test_no_link_where_it_would_not_work(db: Connection, deliver: Deliver, mail_server: MailServer) -> None:
    """A mail has no unsubscribe link if AuthenticateOnUnsubscribe is true (ConfirmSubscription, API reference).
    One-click unsubscription requires https (RFC 8058)."""
    topic = create_topic(db)
    signed, plain = (subscribe(db, topic, f"{name}@example.com") for name in ("signed", "plain"))
    db.execute("update queue.subscription set authenticates_unsubscribe = true where arn = %s", (signed,))
    publish(db, signed, "m")
    publish(db, plain, "m", link="http://queues.example.com/?SubscriptionArn=")
    assert deliver()["delivered"] == 2
    (to_signed,) = mail_server.to("signed@example.com")
    assert to_signed.message["List-Unsubscribe"] is None
    assert "unsubscribe" not in to_signed.text
    (to_plain,) = mail_server.to("plain@example.com")
    assert to_plain.message["List-Unsubscribe"].startswith("<http://")
    assert to_plain.message["List-Unsubscribe-Post"] is None


def test_no_line_of_a_user_becomes_a_header(db: Connection, deliver: Deliver, mail_server: MailServer) -> None:
    """The header is safe for any text in the database."""
    texts = ["a\r\nBcc: x@example.com", "a\nBcc: x@example.com\n\nbody", "a\rBcc: x", "a\x0bb\x85c\u2028d"]
    for text in texts:
        reader = subscribe(db, create_topic(db, DisplayName=text), "reader@example.com")
        publish(db, reader, "m", text, link=f"https://h/?{text}")
    assert deliver()["delivered"] == len(texts)
    for mail in mail_server.received:
        names = {line.partition(b":")[0] for line in mail.raw.partition(b"\r\n\r\n")[0].split(b"\r\n")}
        assert names == {
            b"From", b"To", b"Subject", b"Date", b"Message-ID", b"Auto-Submitted", b"MIME-Version", b"Content-Type",
            b"Content-Transfer-Encoding",
        }  # fmt: skip
        assert mail.recipients == ["reader@example.com"]


def test_no_line_of_a_user_becomes_a_command(db: Connection, deliver: Deliver, mail_server: MailServer) -> None:
    addresses = ["a@example.com\r\nRCPT TO:<x@example.com>", "a@example.com> SIZE=1", "no address"]
    for address in addresses:
        publish(db, subscribe(db, create_topic(db), address), "m")
    assert deliver()["exhausted"] == len(addresses)
    assert (mail_server.received, mail_server.connections) == ([], 0)
    assert set(states(db)) == {("failed", "the recipient is not an e-mail address")}


# --- refusals --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["greylisted", "busy", "away"])
def test_a_temporary_refusal(db: Connection, deliver: Deliver, mail_server: MailServer, name: str) -> None:
    """The worker retries twice after 10 seconds, and then at longer intervals up to 600 seconds: 50 times in more than
    6 hours."""
    publish(db, subscribe(db, create_topic(db), f"{name}@example.com"), "m")
    assert deliver()["retried"] == 1
    assert (states(db), round(due_in_seconds(db)[0])) == ([("waiting", None)], 10)
    pass_time(db, 11)
    counts = deliver()
    if name == "greylisted":
        assert (counts["delivered"], len(mail_server.received)) == (1, 1)
        return
    assert (counts["retried"], round(due_in_seconds(db)[0])) == (1, 10)
    assert deliveries(db)[0].last_status == (421 if name == "away" else 451)
    db.execute("update queue.outgoing_delivery set attempts = 40")
    pass_time(db, 11)
    assert (deliver()["retried"], round(due_in_seconds(db)[0])) == (1, 600)
    db.execute("update queue.outgoing_delivery set attempts = 50")
    pass_time(db, 601)
    assert deliver()["exhausted"] == 1
    assert states(db)[0][0] == "failed"


def test_a_refusal_for_good(db: Connection, deliver: Deliver, mail_server: MailServer) -> None:
    """The message then moves to the dead-letter queue. If the subscription has no dead-letter queue, the message stays
    in the database."""
    topic, dead, names = create_topic(db), create(db, "dead"), ["refused", "blocked", "spam"]
    for name in names:
        reader = subscribe(db, topic, f"{name}@example.com", dead_letters=dead)
        publish(db, reader, name, attributes=ATTRIBUTES)
        publish(db, subscribe(db, topic, f"{name}+2@example.com"), "m")
    counts = deliver()
    assert (counts["dead_lettered"], counts["exhausted"], counts["retried"]) == (3, 3, 0)
    letters = receive(db, dead)
    assert sorted(json.loads(letter.body)["Message"] for letter in letters) == sorted(names)
    errors = {json.loads(letter.attributes or "")["PenstockError"]["StringValue"] for letter in letters}
    assert errors == {"554 5.7.1 your address is blocked", "554 5.6.0 not wanted", "550 5.1.1 no such user"}
    assert {state for state, _ in states(db)} == {"failed"}
    assert all(str(error).startswith("55") for _, error in states(db))
    assert mail_server.received == []


@pytest.mark.parametrize(("name", "bounces"), [("refused", 5), ("blocked", 0)])
def test_an_address_that_is_refused_again_and_again(
    db: Connection, deliver: Deliver, mail_server: MailServer, name: str, bounces: int
) -> None:
    """After the server refuses the recipient (not the sender or the content) five times, the service stops sending
    mails to the address."""
    dead = create(db, "dead")
    reader = subscribe(db, create_topic(db), f"{name}@example.com", dead_letters=dead)
    for _ in range(5):
        publish(db, reader, "m")
        assert deliver()["dead_lettered"] == 1
    assert number(db, "select mail_refusals from queue.subscription") == bounces
    publish(db, reader, "one more")
    deliver()
    assert mail_server.asked[f"{name}@example.com"] == (5 if bounces else 6)
    assert states(db)[-1][0] == "failed"
    assert (states(db)[-1][1] == "AddressDisabled") == bool(bounces)
    letters = [json.loads(letter.body)["Message"] for letter in receive(db, dead)]
    assert letters == ["m"] * 5 + ["one more"]
    assert deliveries(db) == []


def test_a_mail_that_is_accepted_ends_the_count(
    db: Connection, deliver: Deliver, mail_server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delivered mail resets the count, even if an operator retried the mail through POST /v1/deliveries/{id}/retry
    after the service disabled the address."""
    reader = subscribe(db, create_topic(db), "refused@example.com")
    for _ in range(5):
        publish(db, reader, "m")
    assert deliver()["exhausted"] == 5
    publish(db, reader, "no more")
    deliver()
    assert (mail_server.asked["refused@example.com"], states(db)[-1]) == (5, ("failed", "AddressDisabled"))
    monkeypatch.delitem(REPLIES, "refused")
    db.execute("select queue.retry_delivery(%s, (select min(delivery_id) from queue.outgoing_delivery))", (ACCOUNT,))
    assert deliver()["delivered"] == 1
    assert number(db, "select mail_refusals from queue.subscription") == 0
    publish(db, reader, "again")
    assert deliver()["delivered"] == 1


def test_an_unsubscribed_address_gets_no_mail(db: Connection, deliver: Deliver, mail_server: MailServer) -> None:
    publish(db, subscribe(db, create_topic(db), "reader@example.com"), "m")
    db.execute("delete from queue.subscription")
    deliver()
    assert (mail_server.received, states(db)) == ([], [("failed", "NotSubscribed")])


def test_without_a_mail_server(db: Connection, deliver: Deliver, mail_server: MailServer) -> None:
    """Without a mail server, the queue keeps the mails. A mail keeps its attempts if a process with a mail server has
    tried to send it."""
    reader = subscribe(db, create_topic(db), "busy@example.com")
    publish(db, reader, "m")
    assert sum(deliver(sns_smtp_url="").values()) == 0
    assert states(db) == [("kept", None)]
    assert deliver()["retried"] == 1
    pass_time(db, 11)
    assert sum(deliver(sns_smtp_url="").values()) == 0
    assert (deliveries(db)[0].attempts, mail_server.asked["busy@example.com"]) == (1, 1)
    assert deliver()["retried"] == 1
    assert (deliveries(db)[0].attempts, mail_server.asked["busy@example.com"]) == (2, 2)


def test_many_readers(db: Connection, deliver: Deliver, mail_server: MailServer) -> None:
    topic = create_topic(db)
    readers = [subscribe(db, topic, f"reader+{number}@example.com") for number in range(60)]
    for reader in readers:
        publish(db, reader, "m")
    assert deliver()["delivered"] == 60
    assert sorted(mail.recipients[0] for mail in mail_server.received) == sorted(
        f"reader+{number}@example.com" for number in range(60)
    )


def test_a_topic_of_whose_account_too_many_mails_wait(db: Connection) -> None:
    """Mails have a separate quota from text messages and push notifications (QUOTA_DELIVERIES,
    docs/operate/quotas.md)."""
    topic = create_topic(db)
    reader = subscribe(db, topic, "reader@example.com")
    for _ in range(2):
        publish(db, reader, "hello")
    db.execute("select queue.hand_over_outgoing('{email}', 10, 0)")
    again = """select error from queue.publish_messages(array[jsonb_build_object('message_id', gen_random_uuid(),
        'contents', '{"*": {"raw": "no"}}'::jsonb, 'facts', '{"MessageAttributes": {}}'::jsonb, 'attribute_bytes', 0,
        'request_bytes', 5)], %s, '1')"""
    text = (
        "select error from queue.send_outgoing(%s, %s, 'sms', 'Notification', '+15550100123', gen_random_uuid(), null,"
        " 'hello', null)"
    )
    for most, error in ((2, "RequestThrottled"), (3, None)):
        db.execute("select queue.find_delivery_excess(%s)", (most,))
        assert db.execute(again, (topic,)).fetchone() == (error,)
        assert db.execute(text, (ACCOUNT, REGION)).fetchone() == (None,)
