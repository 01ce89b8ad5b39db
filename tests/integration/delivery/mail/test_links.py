"""Tests confirming and unsubscribing through the links in mails, in the container and in functions.

The sources are "Email notifications" (SNS Developer Guide) and Subscribe, ConfirmSubscription, Unsubscribe (SNS API
reference). RFC 8058, 3.2, defines the request that a mail program sends after a click.

The service limits the number of confirmation mails, because a caller could otherwise flood an address (Penstock's
choice: docs/reference/email.md).

In an hour, an account can cause at most ten confirmation mails, and an address receives at most one.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import psycopg
import pytest

from tests.integration.delivery.mail.conftest import SENDER, Deliver
from tests.support import client_setup
from tests.support.database import Database
from tests.support.delivery.rows import number
from tests.support.functions.server import FunctionServer
from tests.support.mail.server import MailServer, Received, ask, create_topic, pass_hours, states
from tests.support.programs.penstock_service import running_service
from tests.support.sql.calls import Connection
from tests.support.wait import wait_until

READER = "reader@example.com"


@contextmanager
def container(database: Database, variables: dict[str, str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yields the address of a container with a running worker."""
    with running_service(database.api_dsn, **variables) as service:
        yield service.url, lambda: None


@contextmanager
def functions(database: Database, variables: dict[str, str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yields the functions' address, and a function that invokes the schedule."""
    with FunctionServer(database.pooled_dsn, variables=variables) as server:
        yield server.endpoint_url, lambda: server.functions.invoke("deliver", {})


@pytest.mark.parametrize("deployment", [container, functions])
def test_from_the_first_mail_to_the_last(database: Database, mail_server: MailServer, deployment: Any) -> None:
    variables = {"SNS_SMTP_URL": mail_server.url(), "SNS_MAIL_FROM": SENDER}
    with deployment(database, variables) as (url, run_workers):
        sns = boto3.client("sns", endpoint_url=url, region_name="us-east-1", aws_access_key_id="x",
                           aws_secret_access_key="x")  # fmt: skip
        topic = sns.create_topic(Name="news", Attributes={"DisplayName": "The news"})["TopicArn"]

        def next_mail() -> Received:
            seen = len(mails)
            run_workers()
            wait_until(lambda: len(mail_server.received) > seen)
            mails.append(mail_server.received[seen])
            return mails[-1]

        mails: list[Received] = []
        response = sns.subscribe(TopicArn=topic, Protocol="email", Endpoint=READER)
        assert response["SubscriptionArn"] == "pending confirmation"
        asked = next_mail()
        assert asked.message["Subject"] == "AWS Notification - Subscription Confirmation"
        assert topic in asked.text
        assert client_setup.get(link_in(asked)).status_code == 200
        (found,) = sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
        assert found["SubscriptionArn"].startswith(topic)

        sns.publish(TopicArn=topic, Message="hello", Subject="s")
        read = next_mail()
        assert (read.message["Subject"], read.text.partition("\n")[0]) == ("s", "hello")
        assert str(read.message["From"]) == "The news <no-reply@example.com>"
        one_click = str(read.message["List-Unsubscribe"]).strip("<>")
        assert one_click == link_in(read)
        clicked = client_setup.post(one_click, data={"List-Unsubscribe": "One-Click"})
        assert clicked.status_code == 200
        assert sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"] == []

        told = next_mail()
        assert told.message["Subject"] == "AWS Notification - Unsubscribe Confirmation"
        assert client_setup.get(link_in(told)).status_code == 200
        assert len(sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]) == 1
        sns.publish(TopicArn=topic, Message="again")
        assert next_mail().message["Subject"] == "AWS Notification Message"
        states = client_setup.get(f"{url}/v1/outbox", params={"destination": READER})
        assert {each["state"] for each in json.loads(states.text)} == {"sent"}


@pytest.mark.parametrize("deployment", [container, functions])
def test_envelopes_by_mail(database: Database, mail_server: MailServer, deployment: Any) -> None:
    """For `email-json`, the confirmation mail is also JSON. The link in the envelope unsubscribes."""
    variables = {"SNS_SMTP_URL": mail_server.url(), "SNS_MAIL_FROM": SENDER}
    with deployment(database, variables) as (url, run_workers):
        sns = boto3.client("sns", endpoint_url=url, region_name="us-east-1", aws_access_key_id="x",
                           aws_secret_access_key="x")  # fmt: skip
        topic = sns.create_topic(Name="news")["TopicArn"]
        sns.subscribe(TopicArn=topic, Protocol="email-json", Endpoint=READER)
        run_workers()
        wait_until(lambda: len(mail_server.received) == 1)
        asked = json.loads(mail_server.received[0].text)
        assert asked["Type"] == "SubscriptionConfirmation"
        sns.confirm_subscription(TopicArn=topic, Token=asked["Token"])
        texts = {"default": "d", "email-json": "for programs", "email": "for people"}
        sns.publish(TopicArn=topic, Message=json.dumps(texts), MessageStructure="json")
        run_workers()
        wait_until(lambda: len(mail_server.received) == 2)
        mail = mail_server.received[1]
        envelope = json.loads(mail.text)
        assert (envelope["Type"], envelope["Message"]) == ("Notification", "for programs")
        assert mail.message["List-Unsubscribe"] == f"<{envelope['UnsubscribeURL']}>"
        assert client_setup.get(envelope["UnsubscribeURL"]).status_code == 200
        assert sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"] == []


@pytest.mark.parametrize("protocol", ["email", "email-json"])
def test_a_message_for_an_address_that_is_refused(database: Database, mail_server: MailServer, protocol: str) -> None:
    """The dead-letter queue receives the envelope with the text for the protocol, as a subscribed queue would."""
    variables = {"SNS_SMTP_URL": mail_server.url(), "SNS_MAIL_FROM": SENDER}
    with functions(database, variables) as (url, run_workers):
        sns, sqs = (
            boto3.client(name, endpoint_url=url, region_name="us-east-1", aws_access_key_id="x",
                         aws_secret_access_key="x")
            for name in ("sns", "sqs")
        )  # fmt: skip
        dead = sqs.create_queue(QueueName="dead")["QueueUrl"]
        topic = sns.create_topic(Name="news")["TopicArn"]
        policy = json.dumps({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead"})
        sns.subscribe(TopicArn=topic, Protocol=protocol, Endpoint="refused@example.com",
                      Attributes={"RedrivePolicy": policy})  # fmt: skip
        (asked,) = json.loads(client_setup.get(f"{url}/v1/outbox").text)
        sns.confirm_subscription(TopicArn=topic, Token=json.loads(asked["text"])["Token"])
        texts = {"default": "d", "email-json": "for programs", "email": "for people"}
        sns.publish(TopicArn=topic, Message=json.dumps(texts), MessageStructure="json", Subject="s")
        sns.publish(TopicArn=topic, Message="for all")
        run_workers()
        letters = sqs.receive_message(QueueUrl=dead, MaxNumberOfMessages=10)["Messages"]
        found = {json.loads(letter["Body"])["Message"]: json.loads(letter["Body"]) for letter in letters}
        assert set(found) == {texts[protocol], "for all"}
        assert {each["Type"] for each in found.values()} == {"Notification"}
        assert {each["TopicArn"] for each in found.values()} == {topic}
        assert found[texts[protocol]]["Subject"] == "s"
        assert ("Signature" in found[texts[protocol]], "Signature" in found["for all"]) == (
            protocol == "email-json",
            True,
        )


def link_in(mail: Received) -> str:
    (link,) = re.findall(r"^https?://\S+$", mail.text, re.MULTILINE)
    return str(link)


OTHER = "111122223333"


def test_ten_an_hour_of_an_account(db: Connection, deliver: Deliver, mail_server: MailServer) -> None:
    topic = create_topic(db)
    for reader in range(25):
        ask(db, topic, f"reader{reader}@example.com")
    ask(db, create_topic(db, OTHER), "other@example.com")
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
    """The limit counts the mails of all callers, and ignores the letter case of the address."""
    ask(db, create_topic(db), "reader@example.com")
    ask(db, create_topic(db, OTHER), "Reader@Example.com")
    ask(db, create_topic(db), "reader@example.com", "email-json")
    sent = []
    for _ in range(4):
        deliver()
        sent.append(len(mail_server.received))
        pass_hours(db, 1)
    assert sent == [1, 2, 3, 3]


def test_the_link_is_good_for_two_days_from_when_it_goes_out(db: Connection, deliver: Deliver) -> None:
    ask(db, create_topic(db), "reader@example.com")
    late = ask(db, create_topic(db), "reader@example.com")
    deliver()
    left = db.execute(
        "select extract(epoch from token_expires_at - clock_timestamp()) / 3600 from queue.subscription where arn = %s",
        (late,),
    ).fetchone()
    assert left is not None
    assert round(left[0]) == 49


def test_an_account_that_asks_one_address_too_often_waits(db: Connection, deliver: Deliver) -> None:
    """At most ten mails of an account wait, so other accounts have capacity. A mail waits for at most two days."""
    for _ in range(13):
        ask(db, create_topic(db), "reader@example.com")
    for account in range(1, 9):
        for _ in range(5):
            ask(db, create_topic(db, f"{account:012}"), "reader@example.com")
    deliver()
    found = [state for state, _ in states(db)]
    assert found[:13] == ["sent"] + ["waiting"] * 10 + ["failed"] * 2
    assert found[13:] == ["waiting"] * 38 + ["failed"] * 2
    assert states(db)[-1] == ("failed", "ConfirmationRateExceeded")


def test_a_repeated_subscription_sends_no_second_mail(
    db: Connection, deliver: Deliver, mail_server: MailServer
) -> None:
    """The limit applies to each hour. The link in the first mail stays valid."""
    topic = create_topic(db)
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
    """A worker waits for the rows that another worker has locked."""
    topic = create_topic(db)
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
        ask(db, create_topic(db), address)
    assert deliver()["delivered"] == len(addresses)
    assert sorted(mail.recipients[0] for mail in mail_server.received) == sorted(addresses)
