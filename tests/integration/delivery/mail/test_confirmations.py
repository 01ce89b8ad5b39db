"""How often addresses are asked to confirm: ours (docs/topics.md, "E-mail"), so that no address can be flooded.

At most ten such mails go out in an hour for an account, and one to an address.
"""

from __future__ import annotations

import psycopg

from tests.integration.delivery.mail.conftest import Deliver
from tests.support.database import Database
from tests.support.delivery.rows import number
from tests.support.mail.server import MailServer
from tests.support.mail.subscribers import ask, make_topic, pass_hours, states
from tests.support.sql.calls import Connection

OTHER = "111122223333"


def test_ten_an_hour_of_an_account(db: Connection, deliver: Deliver, mail_server: MailServer) -> None:
    topic = make_topic(db)
    for reader in range(25):
        ask(db, topic, f"reader{reader}@example.com")
    ask(db, make_topic(db, OTHER), "other@example.com")
    sent = []
    for _ in range(4):
        deliver()
        sent.append(len(mail_server.received))
        pass_hours(db, 1)
    assert sent == [11, 21, 26, 26]
    assert len({mail.recipients[0] for mail in mail_server.received}) == 26
    assert {state for state, _ in states(db)} == {"sent"}
    deliver(quota_confirmation_mails=0)
    for reader in range(25):
        ask(db, topic, f"more{reader}@example.com")
    assert deliver(quota_confirmation_mails=0)["delivered"] == 25


def test_an_address_once_an_hour(db: Connection, deliver: Deliver, mail_server: MailServer) -> None:
    """Whoever asks, and in whatever letters."""
    ask(db, make_topic(db), "reader@example.com")
    ask(db, make_topic(db, OTHER), "Reader@Example.com")
    ask(db, make_topic(db), "reader@example.com", "email-json")
    sent = []
    for _ in range(4):
        deliver()
        sent.append(len(mail_server.received))
        pass_hours(db, 1)
    assert sent == [1, 2, 3, 3]


def test_the_link_is_good_for_two_days_from_when_it_goes_out(db: Connection, deliver: Deliver) -> None:
    ask(db, make_topic(db), "reader@example.com")
    late = ask(db, make_topic(db), "reader@example.com")
    deliver()
    left = db.execute(
        "select extract(epoch from token_expires_at - clock_timestamp()) / 3600 from queue.subscription where arn = %s",
        (late,),
    ).fetchone()
    assert left is not None
    assert round(left[0]) == 49


def test_who_asks_one_address_too_often(db: Connection, deliver: Deliver) -> None:
    """Ten mails of an account wait, so that other accounts can ask; nothing waits for over two days."""
    for _ in range(13):
        ask(db, make_topic(db), "reader@example.com")
    for account in range(1, 9):
        for _ in range(5):
            ask(db, make_topic(db, f"{account:012}"), "reader@example.com")
    deliver()
    found = [state for state, _ in states(db)]
    assert found[:13] == ["sent"] + ["waiting"] * 10 + ["failed"] * 2
    assert found[13:] == ["waiting"] * 38 + ["failed"] * 2
    assert states(db)[-1] == ("failed", "ConfirmationRateExceeded")


def test_who_subscribes_again_is_not_asked_again(
    db: Connection, deliver: Deliver, mail_server: MailServer
) -> None:
    """Within an hour; the first link stays good."""
    topic = make_topic(db)
    arn = ask(db, topic, "reader@example.com")
    token = db.execute("select token from queue.subscription").fetchone()
    assert ask(db, topic, "reader@example.com") == arn
    assert db.execute("select token from queue.subscription").fetchone() == token
    deliver()
    assert len(states(db)) == 1
    pass_hours(db, 1)
    ask(db, topic, "reader@example.com")
    assert db.execute("select token from queue.subscription").fetchone() != token
    deliver()
    assert len(mail_server.received) == 2
    assert mail_server.received[0].text != mail_server.received[1].text


def test_two_workers_keep_the_rate(db: Connection, database: Database) -> None:
    """One waits for the times that the other has taken."""
    topic = make_topic(db)
    for reader in range(20):
        ask(db, topic, f"reader{reader}@example.com")
    hand_over = "select handed from queue.hand_over_outgoing('{email}', 10, 10)"
    with psycopg.connect(database.api_dsn, autocommit=True) as other:
        assert db.execute(hand_over).fetchone() == (10,)
        assert other.execute(hand_over).fetchone() == (10,)
    now = "select count(*) from queue.outgoing_delivery where due_at <= clock_timestamp()"
    assert number(db, now) == 10


def test_unusual_addresses(db: Connection, deliver: Deliver, mail_server: MailServer) -> None:
    addresses = ["a'b@example.com", "a..b@example.com", "x" * 64 + "@example.com"]
    for address in addresses:
        ask(db, make_topic(db), address)
    assert deliver()["delivered"] == len(addresses)
    assert sorted(mail.recipients[0] for mail in mail_server.received) == sorted(addresses)
