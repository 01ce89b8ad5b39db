"""Tests EventBridge Scheduler's targets, retries and dead letters.

The sources are Target, RetryPolicy, "Adding context attributes", "Configuring a schedule's dead-letter queue" and
"Deletion after schedule completion" (EventBridge Scheduler User Guide and API Reference).
"""

import json
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from penstock.postgres.statements.firing import CLAIM_SCHEDULE_RETRIES
from penstock.postgres.statements.schedules import DROP_SCHEDULE
from penstock.postgres.statements.sns.subscriptions import ADD_SUBSCRIPTION
from penstock.postgres.statements.sns.topics import CREATE_TOPIC
from tests.integration.scheduler.conftest import Fire
from tests.support.schedules.rows import ACCOUNT, REGION, Hour, call, pass_time, put, read, runs, value
from tests.support.sns_signatures import verify
from tests.support.sql.calls import Connection

pytestmark = pytest.mark.emptied

JOBS = f"arn:aws:sqs:{REGION}:{ACCOUNT}:jobs"
FIFO = f"arn:aws:sqs:{REGION}:{ACCOUNT}:lines.fifo"
MISSING = f"arn:aws:sqs:{REGION}:{ACCOUNT}:missing"
DEAD = f"arn:aws:sqs:{REGION}:{ACCOUNT}:dead"
NEWS = f"arn:aws:sns:{REGION}:{ACCOUNT}:news"
SCHEDULE = f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/s"


@pytest.fixture(autouse=True)
def _queues(db: Connection) -> None:
    db.execute("select queue.create('jobs'), queue.create('dead')")


def invoke(db: Connection, at: datetime, arn: str = JOBS, text: str | None = "hello", **more: Any) -> None:
    """Creates the hourly schedule `s` through EventBridge Scheduler's API. `more` contains columns of the schedule and
    members of the target."""
    members = {name: more.pop(name) for name in list(more) if name[0].isupper()}
    target = {"Arn": arn, "RoleArn": "arn:aws:iam::000000000000:role/r", **members}
    if text is not None:
        target["Input"] = text
    fields: dict[str, Any] = {"expression_kind": "aws_cron", "canonical": f"cron({at.minute} * * * ? *)"} | more
    put(db, "s", at, api="aws", target=target, **fields)


def bodies(db: Connection, queue: str = "jobs") -> list[str]:
    query = "select array_agg(body order by id) from queue.log join queue.queues using (queue_id) where name = %s"
    return value(db, query, queue) or []


def write(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


# --- what is sent ----------------------------------------------------------------------------------------------------
def test_a_queue_gets_the_input_as_it_is(db: Connection, fire: Fire, hour: Hour) -> None:
    invoke(db, hour(), text="not JSON, <b>ü</b>")
    assert fire()["fired"] == 1
    assert bodies(db) == ["not JSON, <b>ü</b>"]
    assert value(db, "select attributes from queue.log") is None


def test_context_attributes_are_replaced(db: Connection, fire: Fire, hour: Hour) -> None:
    at = hour()
    text = "<aws.scheduler.schedule-arn> <aws.scheduler.scheduled-time> <aws.scheduler.attempt-number>"
    invoke(db, at, text=f"{text} <aws.scheduler.execution-id>")
    fire()
    arn, time, attempt, execution = bodies(db)[0].split(" ")
    assert (arn, time, attempt) == (SCHEDULE, write(at), "1")
    assert len(execution) == 16
    int(execution, 16)


def test_without_input_there_is_a_notification(db: Connection, fire: Fire, hour: Hour) -> None:
    at = hour()
    invoke(db, at, text=None)
    fire()
    event = json.loads(bodies(db)[0])
    assert (event["source"], event["detail-type"]) == ("aws.scheduler", "Scheduled Event")
    assert (event["time"], event["resources"], event["account"]) == (write(at), [SCHEDULE], ACCOUNT)


def test_a_fifo_queue_gets_the_message_group(db: Connection, fire: Fire, hour: Hour) -> None:
    db.execute("""select queue.create_fifo('lines.fifo', '{"ContentBasedDeduplication": "true"}')""")
    invoke(db, hour(), FIFO, SqsParameters={"MessageGroupId": "g"})
    assert fire()["fired"] == 1
    assert value(db, "select system ->> 'MessageGroupId' from queue.fifo_message") == "g"


def test_a_topic_gets_signed_envelopes(db: Connection, fire: Fire, hour: Hour) -> None:
    """The envelopes equal the envelopes of Publish, even if the topic's SignatureVersion differs from the cached
    version."""
    call(db, CREATE_TOPIC, ACCOUNT, REGION, "news", {"SignatureVersion": "2"}, {}, {})
    subscribe(db)
    invoke(db, hour(), NEWS)
    assert fire()["fired"] == 1
    envelope = json.loads(bodies(db)[0])
    assert (envelope["Message"], envelope["TopicArn"], envelope["SignatureVersion"]) == ("hello", NEWS, "2")
    verify(envelope, value(db, "select certificate from queue.signing_key"))


def subscribe(db: Connection) -> None:
    call(db, ADD_SUBSCRIPTION, NEWS, uuid4(), ACCOUNT, "sqs", JOBS, {}, None, None, None, 0, 0, None, None, {}, None)


def test_a_topic_takes_no_more_than_its_maximum(db: Connection, fire: Fire, hour: Hour) -> None:
    """The default limit is 262,144 bytes, as for Publish."""
    call(db, CREATE_TOPIC, ACCOUNT, REGION, "news", {}, {}, {})
    subscribe(db)
    invoke(db, hour(), NEWS, "x" * 262_145, RetryPolicy={"MaximumRetryAttempts": 0})
    assert fire()["fired"] == 0
    assert bodies(db) == []
    assert value(db, "select error from queue.schedule_run where error is not null") == (
        "Invalid parameter: Message too long"
    )


# --- when they are over ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("action", "continues"), [("NONE", True), ("DELETE", False), (None, True)])
@pytest.mark.parametrize("form", ["at", "aws_cron"])
def test_action_after_completion(
    db: Connection, fire: Fire, form: str, action: str | None, continues: bool, hour: Hour
) -> None:
    at = hour()
    canonical = f"at({at:%Y-%m-%dT%H:%M:%S})" if form == "at" else f"cron({at.minute} * * * ? *)"
    end = None if form == "at" else write(at)
    invoke(db, at, expression_kind=form, canonical=canonical, end_at=end, action_after_completion=action)
    assert fire()["fired"] == 1
    row = read(db, "s")
    assert (row is not None) == continues
    if row is not None:  # The owner of the schedule decides its state.
        assert (row["status"], row["next_fire_at"], row["last_error"]) == ("active", None, None)
    assert fire()["fired"] == 0


def test_missed_ones_fire_until_they_are_too_old(db: Connection, fire: Fire, hour: Hour) -> None:
    """After an outage, late occurrences fire within MaximumEventAgeInSeconds (Penstock's choice)."""
    invoke(db, hour(-100), RetryPolicy={"MaximumEventAgeInSeconds": 3 * 3600})
    assert fire()["fired"] == 3
    row = read(db, "s")
    assert row is not None
    assert row["next_fire_at"] == hour(1)


def test_a_flexible_window_spreads_the_firing(db: Connection, hour: Hour) -> None:
    at = hour(1)
    offsets = []
    for n in range(40):
        row, *_ = put(db, f"s{n}", at, window_minutes=15)
        offsets.append(datetime.fromisoformat(row["due_at"]) - datetime.fromisoformat(row["next_fire_at"]))
    assert timedelta() <= min(offsets) < timedelta(minutes=5)
    assert timedelta(minutes=10) < max(offsets) < timedelta(minutes=15)


# --- retries and dead letters ----------------------------------------------------------------------------------------
def dead_letters(db: Connection) -> list[tuple[str, dict[str, str]]]:
    """Returns the bodies and message attributes in the dead-letter queue."""
    rows = db.execute(
        "select l.body, l.attributes from queue.log l join queue.queues q using (queue_id) where q.name = 'dead'"
    )
    return [
        (body, {name: attribute["StringValue"] for name, attribute in attributes.items()}) for body, attributes in rows
    ]


def test_a_failed_invocation_is_tried_again_while_the_schedule_goes_on(db: Connection, fire: Fire, hour: Hour) -> None:
    at = hour()
    invoke(db, at, MISSING)
    counts = fire()
    assert (counts["fired"], counts["failed"]) == (0, 1)
    row = read(db, "s")
    assert row is not None
    assert (row["status"], row["next_fire_at"], row["fire_count"]) == ("active", at + timedelta(hours=1), 0)
    assert row["last_error"] == "Queue 'missing' did not exist"
    pass_time(db, 1)
    assert fire()["failed"] == 1
    db.execute("select queue.create('missing')")
    pass_time(db, 2)
    assert fire()["fired"] == 1
    assert bodies(db, "missing") == ["hello"]
    assert runs(db, "s") == [(at, False, 3, True, None)]
    row = read(db, "s")
    assert row is not None
    assert (row["fire_count"], row["last_error"]) == (1, None)
    assert value(db, "select count(*) from queue.schedule_retry") == 0


def test_retries_wait_longer_each_time(db: Connection, fire: Fire, hour: Hour) -> None:
    """The backoff is exponential (RetryPolicy). AWS does not document the seconds, so Penstock chose them."""
    invoke(db, hour(), MISSING)
    fire()
    put(db, "s", None, "patch", status="paused")
    for wait in (2, 4, 8, 16, 32, 64, 128, 256, 300, 300):
        pass_time(db, 3600)
        fire()
        left = value(db, "select extract(epoch from due_at - clock_timestamp())::float from queue.schedule_retry")
        assert wait - 5 < left <= wait


def test_an_account_whose_targets_fail_delays_no_other_accounts_retries(db: Connection, hour: Hour) -> None:
    invoke(db, hour(), MISSING)
    db.execute(
        "insert into queue.schedule_retry (schedule_id, account_id, region, group_name, name, target, scheduled_for,"
        "     expires_at, due_at, error_code, error)"
        " select s.schedule_id, lpad(n::text, 12, '1'), s.region, s.group_name, s.name, s.target, now(), now(),"
        "     now() - case when n = 1 then '1 s' else '1 h' end::interval, '', ''"
        " from queue.schedule s, generate_series(1, 2) n, generate_series(1, case n when 1 then 1 else 100 end)"
    )
    with db.transaction():
        claimed = [row.retry_id for row in call(db, CLAIM_SCHEDULE_RETRIES, 10, 0)]
        assert len(claimed) == 6  # Each account can have at most half of the ten claimed retries.
        assert value(db, "select min(retry_id) from queue.schedule_retry where right(account_id, 1) = '1'") in claimed


@pytest.mark.parametrize("most", [0, 2])
def test_used_up_retries_end_in_the_dead_letter_queue(db: Connection, fire: Fire, most: int, hour: Hour) -> None:
    at = hour()
    invoke(db, at, MISSING, "<aws.scheduler.attempt-number>", DeadLetterConfig={"Arn": DEAD},
           RetryPolicy={"MaximumRetryAttempts": most})  # fmt: skip
    fire()
    for _ in range(most):
        assert dead_letters(db) == []
        pass_time(db, 10)
        fire()
    ((body, attributes),) = dead_letters(db)
    assert body == str(most + 1)
    execution = attributes.pop("EXECUTION_ID")
    assert len(execution) == 16
    assert attributes == {
        "ERROR_CODE": "AWS.SimpleQueueService.NonExistentQueue",
        "ERROR_MESSAGE": "Queue 'missing' did not exist",
        "EXHAUSTED_RETRY_CONDITION": "MaximumRetryAttempts",
        "IS_PAYLOAD_TRUNCATED": "false",
        "RETRY_ATTEMPTS": str(most),
        "SCHEDULED_TIME": write(at),
        "SCHEDULE_ARN": SCHEDULE,
        "TARGET_ARN": MISSING,
    }
    assert value(db, "select count(*) from queue.schedule_retry") == 0


def test_an_invocation_that_is_too_old_ends_in_the_dead_letter_queue(db: Connection, fire: Fire, hour: Hour) -> None:
    invoke(db, hour(), MISSING, DeadLetterConfig={"Arn": DEAD}, RetryPolicy={"MaximumEventAgeInSeconds": 7200})
    fire()
    pass_time(db, 7200)
    fire()
    ((_, attributes),) = dead_letters(db)
    assert attributes["EXHAUSTED_RETRY_CONDITION"] == "MaximumEventAgeInSeconds"


def test_without_a_dead_letter_queue_it_is_dropped(db: Connection, fire: Fire, hour: Hour) -> None:
    invoke(db, hour(), MISSING, RetryPolicy={"MaximumRetryAttempts": 0}, DeadLetterConfig={"Arn": MISSING})
    assert fire()["failed"] == 1
    assert value(db, "select count(*) from queue.schedule_retry") == 0


def test_a_topic_that_is_missing_is_tried_again_too(db: Connection, fire: Fire, hour: Hour) -> None:
    invoke(db, hour(), NEWS)
    assert fire()["failed"] == 1
    call(db, CREATE_TOPIC, ACCOUNT, REGION, "news", {}, {}, {})
    subscribe(db)
    pass_time(db, 1)
    assert fire()["fired"] == 1
    assert json.loads(bodies(db)[0])["Message"] == "hello"


def test_deleting_a_schedule_ends_its_retries(db: Connection, fire: Fire, hour: Hour) -> None:
    invoke(db, hour(), MISSING)
    fire()
    assert call(db, DROP_SCHEDULE, ACCOUNT, REGION, "default", "s") == [(True,)]
    assert value(db, "select count(*) from queue.schedule_retry") == 0
