"""Messages and invocations that are not tried any more.

Source: RetryPolicy (EventBridge Scheduler API Reference). We chose which callers may have a function invoked.
"""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from tests.support.mappings.harness import Harness
from tests.support.sql.calls import ACCOUNT, Connection, create, receive
from tests.support.wait import wait_until

ARN = f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:f"
SCHEDULE = {
    "at": "2026-01-01T00:00:00+00:00",
    "earlier_attempts": 0,
    "schedule": {
        "schedule_id": 7, "account_id": ACCOUNT, "region": "us-east-1", "group_name": "default", "name": "s",
        "target": {"Arn": ARN, "Input": '{"n": "<aws.scheduler.attempt-number>"}'},
    },
}  # fmt: skip


def test_a_function_of_another_account_than_the_subscriber(harness: Harness) -> None:
    """A release that invoked no functions let any account subscribe any function."""
    name = harness.function(lambda _: None)
    sns = harness.service.client("sns")
    topic = sns.create_topic(Name="foreign")["TopicArn"]
    arn = f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:{name}"
    subscription = sns.subscribe(TopicArn=topic, Protocol="lambda", Endpoint=arn)["SubscriptionArn"]
    with psycopg.connect(harness.dsn, autocommit=True) as db:
        db.execute("update queue.subscription set owner = '111122223333' where arn = %s", (subscription,))
        sns.publish(TopicArn=topic, Message="m")
        query = "select state, error from queue.outgoing where subscription_arn = %s"
        wait_until(
            lambda: db.execute(query, (subscription,)).fetchall() == [("failed", "FunctionNotAllowed")]
        )
    assert harness.invocations(name) == []


def paused_invocation(db: Connection, until: float, dead_letters: str) -> None:
    """An invocation by a schedule that has waited for two hours for its function, which is paused."""
    row = db.execute(
        "insert into queue.notice (kind, message_id, raw, headers) values ('schedule', gen_random_uuid(), '{}', %s)"
        " returning notice_id", (json.dumps(SCHEDULE),),
    ).fetchone()  # fmt: skip
    assert row is not None
    endpoint_key, policy = f"{ACCOUNT} {ARN}", json.dumps({"MaximumRetryAttempts": 185, "Until": until})
    db.execute(
        "insert into queue.outgoing_delivery (notice_id, account_id, endpoint, raw, subscription_policy,"
        " dead_letter_arn, attempts, last_error, due_at, waiting, waits_for)"
        " values (%s, %s, %s, true, %s, %s, 3, 'TooManyRequestsException: 429',"
        " clock_timestamp() - interval '2 hours', true, %s)",
        (row[0], ACCOUNT, ARN, policy, dead_letters, endpoint_key),
    )
    db.execute(
        "insert into queue.delivery_endpoint (endpoint_key, next_at, failures, account_id, host, paused_until)"
        " values (%s, 'infinity', 20, %s, %s, clock_timestamp() + interval '1 minute')",
        (endpoint_key, ACCOUNT, endpoint_key.lower()),
    )


@pytest.mark.parametrize(("until", "dead"), [(4e9, 0), (0, 1)], ids=["young", "old"])
def test_an_invocation_whose_function_is_paused_waits_as_long_as_its_policy_says(
    db: Connection, until: float, dead: int
) -> None:
    """Other webhooks are given up after an hour. The input of the last attempt is the dead letter."""
    dead_letters = create(db, "dead")
    paused_invocation(db, until, dead_letters)
    assert db.execute("select dead_lettered from queue.expire_deliveries(10)").fetchone() == (dead,)
    found: list[Any] = receive(db, dead_letters)
    assert [message.body for message in found] == ['{"n": "3"}'] * dead
    for message in found:
        attributes = json.loads(message.attributes)
        values = {name: value["StringValue"] for name, value in attributes.items()}
        assert values["EXHAUSTED_RETRY_CONDITION"] == "MaximumEventAgeInSeconds"
        assert (values["RETRY_ATTEMPTS"], values["ERROR_CODE"]) == ("2", "TooManyRequestsException")
