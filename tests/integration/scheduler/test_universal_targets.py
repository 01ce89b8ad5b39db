"""Tests schedules with a universal target or an event bus as target, from the firing to the target.

The sources are "Using universal targets in EventBridge Scheduler" and "Adding context attributes" (EventBridge
Scheduler User Guide), SendMessage (SQS API Reference), Publish (SNS API Reference), and
EventBridgePutEventsV2Parameters and EventBridgePutRawEventsParameters (botocore's model `scheduler/2021-06-30`).
"""

import json
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from penstock.postgres.statements.event_buses import CREATE_EVENT_BUS
from penstock.postgres.statements.schedules import RUN_SCHEDULE
from penstock.postgres.statements.sns.subscriptions import ADD_SUBSCRIPTION
from penstock.postgres.statements.sns.topics import CREATE_TOPIC
from tests.integration.scheduler.conftest import Fire
from tests.support.schedules.rows import ACCOUNT, REGION, Hour, call, pass_time, put, runs, value
from tests.support.sns_signatures import verify
from tests.support.sql.calls import Connection

pytestmark = pytest.mark.emptied

SEND, PUBLISH = "arn:aws:scheduler:::aws-sdk:sqs:sendMessage", "arn:aws:scheduler:::aws-sdk:sns:publish"
JOBS = f"arn:aws:sqs:{REGION}:{ACCOUNT}:jobs"
NEWS = f"arn:aws:sns:{REGION}:{ACCOUNT}:news"
BUS = f"arn:aws:events:{REGION}:{ACCOUNT}:event-busv2/orders/{'a' * 25}"
SCHEDULE = f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/s"
EVENT = {"EventBridgePutEventsV2Parameters": {"DetailType": "order", "Source": "shop"}}
RAW = {"EventBridgePutRawEventsParameters": {"Metadata": {"k": "v"}}}


@pytest.fixture(autouse=True)
def _queues(db: Connection) -> None:
    db.execute("select queue.create('jobs'), queue.create('dead')")


def invoke(db: Connection, at: datetime, arn: str, text: object = None, **more: Any) -> None:
    """Creates the hourly schedule `s` through EventBridge Scheduler's API. `more` contains members of the target."""
    target = {"Arn": arn, "RoleArn": f"arn:aws:iam::{ACCOUNT}:role/r", **more}
    if text is not None:
        target["Input"] = text if isinstance(text, str) else json.dumps(text)
    put(db, "s", at, api="aws", target=target, expression_kind="aws_cron", canonical=f"cron({at.minute} * * * ? *)")


def url_of(name: str) -> str:
    return f"https://queue.example/{ACCOUNT}/{name}"


def log(db: Connection) -> tuple[str, Any, Any]:
    """Returns body, attributes and system attributes of the only message in the log."""
    ((body, attributes, system),) = db.execute("select body, attributes, system from queue.log").fetchall()
    return body, attributes, system


# --- SendMessage -----------------------------------------------------------------------------------------------------
def test_the_request_is_the_message(db: Connection, fire: Fire, hour: Hour) -> None:
    at = hour()
    attributes = {"run": {"DataType": "String", "StringValue": "<aws.scheduler.scheduled-time>"}}
    request = {
        "QueueUrl": url_of("jobs"), "MessageBody": "attempt <aws.scheduler.attempt-number>",
        "MessageAttributes": attributes, "MessageGroupId": "tenant",
    }  # fmt: skip
    invoke(db, at, SEND, request)
    assert fire()["fired"] == 1
    body, stored, system = log(db)
    assert body == "attempt 1"
    assert stored["run"]["StringValue"] == at.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert system == {"MessageGroupId": "tenant"}


def test_a_message_may_be_delayed(db: Connection, fire: Fire, hour: Hour) -> None:
    invoke(db, hour(), SEND, {"QueueUrl": url_of("jobs"), "MessageBody": "m", "DelaySeconds": 900})
    assert fire()["fired"] == 1
    assert value(db, "select visible_at > clock_timestamp() + interval '800 s' from queue.side") is True


def test_a_fifo_queue_gets_group_and_deduplication_id(db: Connection, fire: Fire, hour: Hour) -> None:
    db.execute("select queue.create_fifo('lines.fifo')")
    request = {
        "QueueUrl": url_of("lines.fifo"), "MessageBody": "m", "MessageGroupId": "g",
        "MessageDeduplicationId": "<aws.scheduler.execution-id>",
    }  # fmt: skip
    invoke(db, hour(), SEND, request)
    assert fire()["fired"] == 1
    query = "select system ->> 'MessageGroupId', length(deduplication_id) from queue.fifo_message"
    assert db.execute(query).fetchall() == [("g", 16)]


def test_a_refused_request_is_retried_and_ends_in_the_dead_letter_queue(db: Connection, fire: Fire, hour: Hour) -> None:
    """SQS refuses a group of over 128 characters, which this one has after the replacement."""
    group = "<aws.scheduler.schedule-arn>" * 3
    request = {"QueueUrl": url_of("jobs"), "MessageBody": "m", "MessageGroupId": group}
    dead = {"DeadLetterConfig": {"Arn": JOBS.replace("jobs", "dead")}, "RetryPolicy": {"MaximumRetryAttempts": 1}}
    invoke(db, hour(), SEND, request, **dead)
    assert fire()["failed"] == 1
    pass_time(db, 10)
    assert fire()["exhausted"] == 1
    body, attributes, _ = log(db)
    assert json.loads(body)["MessageBody"] == "m"
    assert attributes["ERROR_CODE"]["StringValue"] == "InvalidParameterValue"
    assert attributes["TARGET_ARN"]["StringValue"] == SEND


def test_an_error_with_characters_that_no_row_can_have_fails_only_its_schedule(
    db: Connection, fire: Fire, hour: Hour
) -> None:
    """SQS quotes the deduplication id, which a standard queue refuses."""
    request = {"QueueUrl": url_of("jobs"), "MessageBody": "m", "MessageDeduplicationId": "<aws.scheduler.execution-id>"}
    invoke(db, hour(), SEND, request)
    put(db, "other", hour(), api="aws", target={"Arn": JOBS, "RoleArn": "", "Input": "other"},
        expression_kind="aws_cron", canonical=f"cron({hour().minute} * * * ? *)")  # fmt: skip
    db.execute(
        "update queue.schedule set target = jsonb_set(target, '{Input}', to_jsonb(replace(target ->> 'Input',"
        " 'MessageBody\": \"m', 'MessageBody\": \"\\u0000\\ud800'))) where name = 's'"
    )
    counts = fire()
    assert (counts["fired"], counts["failed"]) == (1, 1)
    assert log(db)[0] == "other"


def test_a_missing_queue_is_tried_again(db: Connection, fire: Fire, hour: Hour) -> None:
    at = hour()
    invoke(db, at, SEND, {"QueueUrl": url_of("later"), "MessageBody": "<aws.scheduler.attempt-number>"})
    assert fire()["failed"] == 1
    db.execute("select queue.create('later')")
    pass_time(db, 1)
    assert fire()["fired"] == 1
    assert log(db)[0] == "2"
    assert runs(db, "s") == [(at, False, 2, True, None)]


# --- Publish ---------------------------------------------------------------------------------------------------------
def test_a_topic_gets_subject_and_attributes(db: Connection, fire: Fire, hour: Hour) -> None:
    call(db, CREATE_TOPIC, ACCOUNT, REGION, "news", {"SignatureVersion": "2"}, {}, {})
    call(db, ADD_SUBSCRIPTION, NEWS, uuid4(), ACCOUNT, "sqs", JOBS, {}, None, None, None, 0, 0, None, None, {}, None)
    attributes = {"kind": {"DataType": "String", "StringValue": "a"}}
    invoke(db, hour(), PUBLISH, {"TopicArn": NEWS, "Message": "m", "Subject": "s", "MessageAttributes": attributes})
    assert fire()["fired"] == 1
    envelope = json.loads(log(db)[0])
    assert (envelope["Message"], envelope["Subject"], envelope["TopicArn"]) == ("m", "s", NEWS)
    assert envelope["MessageAttributes"] == {"kind": {"Type": "String", "Value": "a"}}
    assert envelope["SignatureVersion"] == "2"
    verify(envelope, value(db, "select certificate from queue.signing_key"))


def test_a_fifo_topic_gets_the_group(db: Connection, fire: Fire, hour: Hour) -> None:
    topic = f"{NEWS}.fifo"
    call(db, CREATE_TOPIC, ACCOUNT, REGION, "news.fifo", {"FifoTopic": "true"}, {}, {})
    call(db, ADD_SUBSCRIPTION, topic, uuid4(), ACCOUNT, "sqs", JOBS, {}, None, None, None, 0, 0, None, None, {}, None)
    ids = {"MessageDeduplicationId": "<aws.scheduler.execution-id>", "MessageGroupId": "g"}
    invoke(db, hour(), PUBLISH, {"TopicArn": topic, "Message": "m", **ids})
    assert fire()["fired"] == 1
    assert json.loads(log(db)[0])["Message"] == "m"


# --- event buses -----------------------------------------------------------------------------------------------------
def create_bus(db: Connection) -> None:
    call(db, CREATE_EVENT_BUS, ACCOUNT, REGION, "orders", BUS, {"retention_days": 1, "tags": {}}, None, None)


def read_event(db: Connection) -> Any:
    query = "select event_id, convert_from(data, 'UTF8'), content_type, source, detail_type, metadata from queue.event"
    (row,) = db.execute(query).fetchall()
    return row


def test_a_bus_gets_the_input_as_detail(db: Connection, fire: Fire, hour: Hour) -> None:
    create_bus(db)
    invoke(db, hour(), BUS, {"by": "<aws.scheduler.schedule-arn>", "zero": "\0"}, **EVENT)
    assert fire()["fired"] == 1
    event_id, data, content_type, source, detail_type, metadata = read_event(db)
    envelope = json.loads(data)
    assert envelope["detail"] == {"by": SCHEDULE, "zero": "\0"}
    assert (envelope["source"], envelope["detail-type"], envelope["account"]) == ("shop", "order", ACCOUNT)
    assert UUID(envelope["id"]) == event_id
    assert (content_type, source, detail_type, metadata) == (0, "shop", "order", None)
    assert value(db, "select message_ids -> 0 ->> 'message_id' from queue.schedule_run") == str(event_id)


def test_without_input_the_detail_is_the_notification(db: Connection, fire: Fire, hour: Hour) -> None:
    create_bus(db)
    invoke(db, hour(), BUS, **EVENT)
    assert fire()["fired"] == 1
    assert json.loads(read_event(db)[1])["detail"]["resources"] == [SCHEDULE]


def test_a_bus_gets_raw_data(db: Connection, fire: Fire, hour: Hour) -> None:
    create_bus(db)
    invoke(db, hour(), BUS, '[1.50, "<aws.scheduler.attempt-number>"]', **RAW)
    assert fire()["fired"] == 1
    assert read_event(db)[1:] == ('[1.50, "1"]', 1, None, None, {"k": "v"})


def test_only_the_worker_fires(db: Connection, hour: Hour) -> None:
    """A run on request does not build messages (docs/reference/eventbridge_scheduler.md)."""
    create_bus(db)
    invoke(db, hour(), BUS, "{}", **EVENT)
    (row,) = call(db, RUN_SCHEDULE, ACCOUNT, REGION, "default", "s")
    assert (row.error, "worker" in str(row.detail)) == ("TargetFailed", True)
    assert value(db, "select count(*) from queue.event") == 0


def test_a_missing_bus_is_tried_again(db: Connection, fire: Fire, hour: Hour) -> None:
    invoke(db, hour(), BUS, "{}", **EVENT)
    assert fire()["failed"] == 1
    assert value(db, "select error_code from queue.schedule_retry") == "ResourceNotFoundException"
    create_bus(db)
    pass_time(db, 1)
    assert fire()["fired"] == 1
    assert json.loads(read_event(db)[1])["detail"] == {}
