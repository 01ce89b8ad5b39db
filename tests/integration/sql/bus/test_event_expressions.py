"""Tests subscribers with expressions: the transformer JSONATA and expressions in the parameters of a target.

Source: "Transform events" and "JSONata expressions", custom event bus (Amazon EventBridge User Guide).
"""

import json
from typing import Any

import pytest

from penstock.events.delivery import transformation
from penstock.events.delivery.subscriber import INTERNAL_ERROR
from penstock.events.expressions import evaluator
from tests.support.events import BUS, add_bus, expire_pauses, put, run, subscribe, take
from tests.support.sql.calls import Connection, create, receive, value

ONCE = {"MaxRetryAttempts": 0, "MaxEventAgeInSeconds": 300, "RetryStrategy": "ALL"}


@pytest.fixture(autouse=True)
def _bus(db: Connection) -> None:
    add_bus(db)


def jsonata(source: str) -> dict[str, object]:
    return {"Type": "JSONATA", "JsonataConfiguration": {"Expression": f"{{% {source} %}}"}}


def test_a_transformer_sends_strings_as_text_and_other_values_as_json(db: Connection) -> None:
    queue = create(db, "q")
    subscribe(db, queue, Transformer=jsonata("$events.Data"))
    put(db, BUS, '"text"', "[1, 2]", "12345678901234567890", "true", '{"a": "b"}')
    run(db, delivered=5)
    assert take(db, queue) == sorted(["text", "[1,2]", "12345678901234567000", "true", '{"a":"b"}'])


def test_an_empty_result_is_a_failure(db: Connection) -> None:
    queue, dead = create(db, "q"), create(db, "dead")
    failure: dict[str, Any] = {"RetryPolicy": ONCE, "OnFailureConfiguration": {"Arn": dead}}
    subscribe(db, queue, Transformer=jsonata("$events.Data.text"), **failure)
    put(db, BUS, '{"text": "kept"}', '{"text": null}', "{}", '{"text": ""}')
    run(db, delivered=1, failed=3)
    assert take(db, queue) == ["kept"]
    codes = {json.loads(body)["errorCode"] for body in take(db, dead)}
    assert codes == {"INPUT_TRANSFORMATION_FAILURE", "CUSTOMER_VALIDATION"}  # SQS refuses the empty text


def test_parameters_see_the_event_and_not_the_result_of_the_transformer(db: Connection) -> None:
    queue = create(db, "q.fifo")
    attribute = {"DataType": "String", "StringValue": "{% $events.Data.kind %}"}
    parameters: dict[str, object] = {
        "MessageGroupId": "{% $events.Data.customer %}",
        "MessageDeduplicationId": "{% $events.SystemMetadata.`aws:EventId` %}",
        "MessageAttributes": {"kind": attribute, "{% 'k-' & $events.Data.kind %}": attribute, "plain": {
            "DataType": "String", "StringValue": "{% no end"}},
    }  # fmt: skip
    subscribe(db, queue, parameters=parameters, Transformer=jsonata("'order of ' & $events.Data.customer"))
    ((event_id, _, _),) = put(db, BUS, '{"customer": "c1", "kind": "new"}')
    run(db, delivered=1)
    (message,) = receive(db, queue, 10)
    assert message.body == "order of c1"
    system = json.loads(message.system or "{}")
    assert (system["MessageGroupId"], system["MessageDeduplicationId"]) == ("c1", str(event_id))
    found = {name: member["StringValue"] for name, member in json.loads(message.attributes or "{}").items()}
    assert found == {"kind": "new", "k-new": "new", "plain": "{% no end"}


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"DelaySeconds": "{% 5 %}"}, "DelaySeconds is not a string"),
        ({"DelaySeconds": "{% $events.Data.none %}"}, "DelaySeconds is empty"),
        ({"MessageAttributes": {"{% $events.Data.none %}": {}}}, "a key is empty"),
        ({"MessageAttributes": {"a": {}, "{% 'a' %}": {}}}, "same result: a"),
        ({"DelaySeconds": "{% $events.Data + 1 %}"}, "T2001"),
    ],
)
def test_a_parameter_without_a_valid_result_fails_the_delivery(
    db: Connection, parameters: dict[str, object], text: str
) -> None:
    queue, dead = create(db, "q"), create(db, "dead")
    subscribe(db, queue, parameters=parameters, RetryPolicy=ONCE, OnFailureConfiguration={"Arn": dead})
    put(db, BUS, '"a"')
    run(db, failed=1)
    record = json.loads(take(db, dead)[0])
    assert record["errorCode"] == "INPUT_TRANSFORMATION_FAILURE"
    assert text in record["errorMessage"]


def test_a_failed_event_of_a_group_holds_up_its_group_only(db: Connection) -> None:
    queue = create(db, "q")
    retry = {"MaxRetryAttempts": 1, "MaxEventAgeInSeconds": 300, "RetryStrategy": "ALL"}
    subscribe(db, queue, Transformer=jsonata("$events.Data ~> $lowercase()"), RetryPolicy=retry)
    db.execute("update queue.event_subscriber set type = 'FIFO'")
    put(db, BUS, "1", '"A"', '"B"', groups=["one", "one", "two"])
    run(db, delivered=1)
    assert take(db, queue) == ["b"]
    expire_pauses(db)
    run(db, delivered=1, failed=1, dropped=1)
    assert take(db, queue) == ["a"]


def test_events_without_time_for_their_expressions_wait_and_others_go_on(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, plain, dead = create(db, "slow"), create(db, "plain"), create(db, "dead")
    failure: dict[str, Any] = {"RetryPolicy": ONCE, "OnFailureConfiguration": {"Arn": dead}}
    subscribe(db, slow, "slow", Transformer=jsonata("$string($events.Data)"), **failure)
    subscribe(db, plain, "plain")
    _, (_, second, _) = put(db, BUS, "1", "2")
    with monkeypatch.context() as patched:
        patched.setattr(transformation, "SUBSCRIBER_SECONDS", 0.0)
        run(db, delivered=2)
        assert take(db, plain) == ["1", "2"]
        assert value(db, "select array_agg(attempts) from queue.event_retry") == [0, 0]
        expire_pauses(db)
        old = "update queue.event_retry set first_attempt_at = now() - interval '301 s' where number = %s"
        db.execute(old, [second])
        run(db, failed=1)
    expire_pauses(db)
    run(db, delivered=1)
    assert take(db, slow) == ["1"]
    record = json.loads(take(db, dead)[0])
    assert (record["retryAttempts"], record["exhaustedRetryCondition"]) == (0, "MaximumEventAgeInSeconds")


def test_events_wait_if_expressions_are_unavailable(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = create(db, "q")
    subscribe(db, queue, Transformer=jsonata("'x'"), RetryPolicy=ONCE)
    put(db, BUS, "1")
    with monkeypatch.context() as patched:
        patched.setattr(evaluator, "MODULE", "penstock.missing")
        run(db)
        assert value(db, "select error_code from queue.event_retry") == INTERNAL_ERROR
    expire_pauses(db)
    run(db, delivered=1)
    assert take(db, queue) == ["x"]
