"""Tests that every AWS action that changes data adds one row to the audit in both deployments, and that other actions
add no row.

The cases come from the table of actions, so a developer who adds an action must also add it to ACTS, READS or MESSAGES.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from botocore import xform_name

from penstock.actions import ACTIONS, AnyAction
from tests.support.conformance.access_keys import OWNER, SIGV4
from tests.support.conformance.events import Events
from tests.support.conformance.scheduler import Scheduler
from tests.support.conformance.sns import Sns
from tests.support.conformance.sqs import Sqs
from tests.support.conformance.valid_requests import events as events_requests
from tests.support.conformance.valid_requests import scheduler as scheduler_requests
from tests.support.conformance.valid_requests import sns as sns_requests
from tests.support.conformance.valid_requests import sqs as sqs_requests
from tests.support.database import Database

Members = dict[str, Any]

READING = ("Get", "List", "CheckIf", "Describe")
MESSAGES = {
    "sqs:SendMessage", "sqs:SendMessageBatch", "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:DeleteMessageBatch",
    "sqs:ChangeMessageVisibility", "sqs:ChangeMessageVisibilityBatch", "sns:Publish", "sns:PublishBatch",
    "events:PutEvents", "events:PutRawEvents",
}  # fmt: skip
LISTS = {"sns:ListSubscriptions", "sns:ListSubscriptionsByTopic", "sns:ListPhoneNumbersOptedOut"}
"""Valid requests for these actions would need long preparations."""
SANDBOX = "+15550122222"


@pytest.fixture
def owner(sqs: Sqs, keys: dict[str, tuple[str, str]]) -> Sqs:
    return sqs.with_settings({**SIGV4, "QUEUE_PURGE_INTERVAL_SECONDS": "0"}).with_key(*keys[OWNER])


@pytest.fixture(scope="module")
def rows(installation: Database) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(installation.dsn, autocommit=True) as connection:
        yield connection


def read_after(rows: psycopg.Connection[Any], audit_id: int) -> list[tuple[str, str, str | None]]:
    return rows.execute(
        "select action, interface, actor from queue.audit where audit_id > %s and error is null order by audit_id",
        (audit_id,),
    ).fetchall()


def last_id(rows: psycopg.Connection[Any]) -> int:
    found = rows.execute("select coalesce(max(audit_id), 0) from queue.audit").fetchone()
    return found[0] if found else 0


def call(action: AnyAction, members: Members, caller: Sqs) -> Any:
    clients: dict[str, Any] = {
        "sqs": caller,
        "sns": Sns(caller),
        "scheduler": Scheduler(caller),
        "events": Events(caller),
    }
    return getattr(clients[action.service].client, xform_name(action.name))(**members)


def prepare(action: AnyAction, owner: Sqs, rows: psycopg.Connection[Any]) -> Members:
    if action.service == "sqs":
        return sqs_requests.GOOD[action.name].needs(owner)
    if action.service == "sns":
        if action.label in LISTS:
            return {"TopicArn": Sns(owner).create()} if action.label.endswith("ByTopic") else {}
        if action.name == "VerifySMSSandboxPhoneNumber":
            return {"PhoneNumber": SANDBOX, "OneTimePassword": read_password(Sns(owner), rows)}
        return sns_requests.GOOD[action.name].needs(Sns(owner))
    if action.service == "events":
        Events(owner).clear()
        return events_requests.GOOD[action.name].needs(Events(owner))
    members = scheduler_requests.GOOD[action.name].needs(Scheduler(owner))
    return {**members, "Description": "new"} if action.name == "UpdateSchedule" else members


def read_password(sns: Sns, rows: psycopg.Connection[Any]) -> str:
    sns.client.create_sms_sandbox_phone_number(PhoneNumber=SANDBOX)
    found = rows.execute("select body from queue.outgoing order by outgoing_id desc limit 1").fetchone()
    return str(found[0])[-6:] if found else ""


@pytest.mark.parametrize("sqs", ["container-json", "lambda-query"], indirect=True)
@pytest.mark.parametrize(
    "action", [one for one in ACTIONS if one.name != "PutDataProtectionPolicy"], ids=lambda action: action.label
)
def test_an_act_leaves_one_row(action: AnyAction, owner: Sqs, rows: psycopg.Connection[Any]) -> None:
    members = prepare(action, owner, rows)
    before = last_id(rows)
    call(action, members, owner)
    found = read_after(rows, before)
    if action.name.startswith(READING) or action.label in MESSAGES:
        assert found == []
    else:
        assert found == [(action.label, "aws", f"arn:aws:iam::{OWNER}:root")]


Rows = psycopg.Connection[Any]


def last_row(rows: Rows) -> dict[str, Any]:
    columns = (
        "action",
        "target",
        "details",
        "changes",
        "affected",
        "error",
        "repeated",
        "interface",
        "actor",
        "key_id",
    )
    found = rows.execute(f"select {', '.join(columns)} from queue.audit order by audit_id desc limit 1").fetchone()
    assert found is not None
    return dict(zip(columns, found, strict=True))


@pytest.mark.parametrize("sqs", ["container-json", "lambda-query"], indirect=True)
def test_a_row_has_the_old_and_the_new_value(owner: Sqs, rows: Rows) -> None:
    url = owner.create(DelaySeconds="1")
    owner.client.set_queue_attributes(QueueUrl=url, Attributes={"DelaySeconds": "7", "VisibilityTimeout": "30"})
    row = last_row(rows)
    assert (row["target"], row["changes"]) == (owner.arn(url), {"DelaySeconds": ["1", "7"]})
    assert row["key_id"] == owner.account
    before = last_id(rows)
    owner.client.set_queue_attributes(QueueUrl=url, Attributes={"DelaySeconds": "7"})
    assert read_after(rows, before) == []  # it changed nothing
    owner.client.add_permission(QueueUrl=url, Label="l", AWSAccountIds=[OWNER], Actions=["SendMessage"])
    old, new = last_row(rows)["changes"]["Policy"]
    assert old is None
    assert '"Sid":"l"' in new


@pytest.mark.parametrize("sqs", ["container-json"], indirect=True)
def test_a_row_hides_filters_and_parameters_of_subscribers(owner: Sqs, rows: Rows) -> None:
    """AWS hides patterns and parameters of targets in CloudTrail."""
    events = Events(owner)
    events.clear()
    arn = events.subscriber(events.bus())
    pattern = {"Filters": [{"Scope": "DATA", "Pattern": '{"password":["hunter2"]}'}]}
    events.client.update_subscriber(SubscriberArn=arn, FilterConfiguration=pattern, State="STOPPED")
    row = last_row(rows)
    assert (row["target"], row["changes"].keys()) == (arn, {"secret", "state"})
    assert row["changes"]["state"] == ["RUNNING", "STOPPED"]
    assert "hunter2" not in str(row)
    before = last_id(rows)
    events.client.update_subscriber(SubscriberArn=arn, FilterConfiguration=pattern, State="STOPPED")
    assert read_after(rows, before) == []  # it changed nothing


@pytest.mark.parametrize("sqs", ["container-json"], indirect=True)
def test_a_row_hides_passwords_and_credentials(owner: Sqs, rows: Rows) -> None:
    sns = Sns(owner)
    sns.subscribe(sns.create(), "https://ann:hunter2@example.com/hook", "https")
    assert last_row(rows)["details"]["endpoint"] == "https://***@example.com/hook"
    call_members = sns_requests.GOOD["CreatePlatformApplication"].needs(sns)
    sns.client.create_platform_application(**call_members)
    assert last_row(rows)["details"] == {"attributes": sorted(call_members["Attributes"])}


@pytest.mark.parametrize("sqs", ["container-json", "lambda-query"], indirect=True)
def test_an_act_that_fails_leaves_no_row(owner: Sqs, rows: Rows) -> None:
    before = last_id(rows)
    assert owner.code("delete_queue", QueueUrl=owner.name()).endswith("NonExistentQueue")
    url = owner.create()
    before = last_id(rows)
    owner.client.create_queue(QueueName=url.rpartition("/")[2])  # it exists
    assert read_after(rows, before) == []


@pytest.mark.parametrize("sqs", ["container-json"], indirect=True)
def test_the_row_is_written_in_the_transaction_of_the_act(owner: Sqs, rows: Rows) -> None:
    url = owner.create()
    owner.client.tag_queue(QueueUrl=url, Tags={"a": "b"})
    found = rows.execute(
        "select a.xmin = q.xmin from queue.audit a, queue.queues q"
        " where a.target = %s and a.action = 'sqs:TagQueue' and q.arn = a.target",
        (owner.arn(url),),
    ).fetchall()
    assert found == [(True,)]


@pytest.mark.parametrize("sqs", ["container-json", "lambda-query"], indirect=True)
def test_refusals_of_a_minute_are_one_row(owner: Sqs, rows: Rows) -> None:
    """A process writes its first refusal immediately, and later refusals after a delay."""
    stranger = owner.with_key(f"PSTK{owner.name().replace('-', 'X').upper():0<16}", "secret")
    before = last_id(rows)
    for _ in range(3):
        assert stranger.code("list_queues") == "InvalidClientTokenId"
    found = rows.execute(
        "select distinct error from queue.audit where audit_id > %s and error is not null", (before,)
    ).fetchall()
    assert found in ([("InvalidClientTokenId",)], [])
