"""Tests subscribers with universal targets, which call an API action for each batch of events.

Sources: "Universal targets for a Custom Event Bus" (EventBridge User Guide,
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus-universal-targets.html), SendMessage, Publish and
Invoke (API references).
"""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from penstock.postgres.statements.sns.subscriptions import ADD_SUBSCRIPTION
from penstock.postgres.statements.sns.topics import CREATE_TOPIC
from penstock.settings import Settings
from penstock.workers.events import EventDeliverer
from tests.support.conformance.access_keys import SIGV4
from tests.support.events import ACCOUNT, BUS, REGION, add_bus, expire_pauses, put, run, subscribe, take
from tests.support.function_endpoint import Answer, FunctionEndpoint, serve_functions
from tests.support.schedules.rows import call
from tests.support.sql.calls import Connection, create, receive, value

SDK = "arn:aws:events:::aws-sdk"
NEWS = f"arn:aws:sns:{REGION}:{ACCOUNT}:news"
ONCE = {"MaxRetryAttempts": 0, "MaxEventAgeInSeconds": 300, "RetryStrategy": "ALL"}


@pytest.fixture(autouse=True)
def _bus(db: Connection) -> None:
    add_bus(db)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[FunctionEndpoint]:
    with serve_functions() as served:
        yield served


def call_action(db: Connection, action: str, request: object, size: int = 1, **more: Any) -> str:
    """Creates a subscriber with a universal target. `request` is an expression or a literal."""
    text = request if isinstance(request, str) else json.dumps(request)
    batches = {"MaxBatchSize": size, "MaxBatchWindowInSeconds": 0}
    return subscribe(
        db, f"{SDK}:{action}", parameters={"Input": text}, Transformer=None, BatchConfiguration=batches, **more
    )


def test_a_literal_request_is_one_message_for_each_batch(db: Connection) -> None:
    queue = create(db, "q")
    call_action(db, "sqs:sendMessage", {"QueueUrl": "q", "MessageBody": "literal {% x %}", "MessageGroupId": "t"}, 2)
    put(db, BUS, "1", "2", "3")
    run(db, delivered=3)
    messages = receive(db, queue, 10)
    assert [message.body for message in messages] == ["literal {% x %}"] * 2
    assert json.loads(messages[0].system or "{}")["MessageGroupId"] == "t"


def test_an_expression_sees_the_batch_as_an_array_also_of_one_event(db: Connection) -> None:
    queue = create(db, "q")
    source = "{% {'QueueUrl': 'q', 'MessageBody': $type($events) & $string($events.Data), 'DelaySeconds': 0} %}"
    call_action(db, "sqs:sendMessage", source, 2)
    put(db, BUS, "1", "2", "3")
    run(db, delivered=3)
    assert take(db, queue) == sorted(["array[1,2]", "array3"])


def test_an_expression_chooses_the_queue_of_its_account(db: Connection) -> None:
    queue, dead = create(db, "q"), create(db, "dead")
    foreign = f"http://localhost/111122223333/{queue.rpartition(':')[2]}"
    source = "{% {'QueueUrl': $events[0].Data.url, 'MessageBody': 'm'} %}"
    call_action(db, "sqs:sendMessage", source, RetryPolicy=ONCE, OnFailureConfiguration={"Arn": dead})
    urls = ("q", foreign, "missing", "a b")
    put(db, BUS, *(json.dumps({"url": url}) for url in urls), '"no object"')
    run(db, delivered=1, failed=4)
    assert take(db, queue) == ["m"]
    codes = sorted(json.loads(body)["errorCode"] for body in take(db, dead))
    assert codes == ["ACCESS_DENIED", *["INPUT_TRANSFORMATION_FAILURE"] * 2, "RESOURCE_NOT_FOUND"]


def test_a_refused_call_fails_the_whole_batch(db: Connection) -> None:
    queue, dead = create(db, "q"), create(db, "dead")
    cases: list[tuple[object, str, str]] = [
        ({"QueueUrl": "q", "MessageBody": ""}, "CUSTOMER_VALIDATION", "MessageBody"),
        ({"QueueUrl": "q", "MessageBody": "m", "DelaySeconds": 901}, "CUSTOMER_VALIDATION", "DelaySeconds"),
        ({"QueueUrl": "missing", "MessageBody": "m"}, "RESOURCE_NOT_FOUND", "does not exist"),
        ("{% {'QueueUrl': 'q'} %}", "INPUT_TRANSFORMATION_FAILURE", "missing required field(s): MessageBody"),
        ("{% $events.Data.none %}", "INPUT_TRANSFORMATION_FAILURE", "empty"),
        ("{% $number('x') %}", "INPUT_TRANSFORMATION_FAILURE", "D3030"),
    ]
    failure: dict[str, Any] = {"RetryPolicy": ONCE, "OnFailureConfiguration": {"Arn": dead}}
    arns = [
        call_action(db, "sqs:sendMessage", request, 10, name=f"s{number}", **failure)
        for number, (request, _, _) in enumerate(cases)
    ]
    put(db, BUS, "1", "2")
    run(db, failed=2 * len(cases))
    assert take(db, queue) == []
    records = [json.loads(body) for body in take(db, dead)]
    assert {record["targetArn"] for record in records} == {f"{SDK}:sqs:sendMessage"}
    for arn, (_, code, text) in zip(arns, cases, strict=True):
        found = [record for record in records if record["subscriberArn"] == arn]
        assert [record["errorCode"] for record in found] == [code] * 2
        assert text in found[0]["errorMessage"]


def test_a_failed_batch_is_tried_again_in_the_order_of_its_group(db: Connection) -> None:
    call_action(db, "sqs:sendMessage", "{% {'QueueUrl': 'q', 'MessageBody': $string($events.Data)} %}", 2)
    db.execute("update queue.event_subscriber set type = 'FIFO'")
    put(db, BUS, "1", "2", "3", groups=["g"] * 3)
    run(db)
    queue = create(db, "q")
    expire_pauses(db)
    run(db, delivered=3)
    assert [message.body for message in receive(db, queue, 10)] == ["[1,2]", "3"]


def test_a_failed_batch_holds_up_its_group_only(db: Connection) -> None:
    queue = create(db, "q")
    retry = {"MaxRetryAttempts": 1, "MaxEventAgeInSeconds": 300, "RetryStrategy": "ALL"}
    source = "{% {'QueueUrl': 'q', 'MessageBody': $lowercase($events[0].Data)} %}"
    call_action(db, "sqs:sendMessage", source, RetryPolicy=retry)
    db.execute("update queue.event_subscriber set type = 'FIFO'")
    put(db, BUS, "1", '"A"', '"B"', groups=["one", "one", "two"])
    run(db, delivered=1)
    assert take(db, queue) == ["b"]
    expire_pauses(db)
    run(db, delivered=1, failed=1, dropped=1)
    assert take(db, queue) == ["a"]


@pytest.mark.parametrize(("principal", "is_denied"), [("*", True), ({"AWS": "111122223333"}, False)])
def test_a_policy_can_deny_the_queue_to_an_expression(db: Connection, principal: object, is_denied: bool) -> None:
    """The rights of the creator cannot be checked for a queue that only the event names (docs/operate/policies.md)."""
    create(db, "q")
    policy = {"Statement": [{"Effect": "Deny", "Principal": principal, "Action": "sqs:SendMessage", "Resource": "*"}]}
    db.execute(
        "update queue.queues set attributes = attributes || jsonb_build_object('Policy', %s::text)",
        [json.dumps(policy)],
    )
    call_action(db, "sqs:sendMessage", "{% {'QueueUrl': 'q', 'MessageBody': 'm'} %}")
    put(db, BUS, "1")
    counts = EventDeliverer().run_once(Settings.read(SIGV4), db)
    assert counts["delivered"] == (0 if is_denied else 1)
    assert value(db, "select min(error_code) from queue.event_retry") == ("ACCESS_DENIED" if is_denied else None)


def test_publish_has_subject_and_attributes(db: Connection) -> None:
    queue = create(db, "q")
    call(db, CREATE_TOPIC, ACCOUNT, REGION, "news", {}, {}, {})
    call(db, ADD_SUBSCRIPTION, NEWS, uuid4(), ACCOUNT, "sqs", queue, {}, None, None, None, 0, 0, None, None, {}, None)
    attributes = {"kind": {"DataType": "String", "StringValue": "a"}}
    request = {"TopicArn": NEWS, "Message": "m", "Subject": "s", "MessageAttributes": attributes}
    call_action(db, "sns:publish", request)
    put(db, BUS, "1")
    run(db, delivered=1)
    envelope = json.loads(take(db, queue)[0])
    assert (envelope["Message"], envelope["Subject"]) == ("m", "s")
    assert envelope["MessageAttributes"] == {"kind": {"Type": "String", "Value": "a"}}


def test_a_missing_topic_is_a_failure(db: Connection) -> None:
    call_action(db, "sns:publish", {"TopicArn": NEWS, "Message": "m"})
    put(db, BUS, "1")
    run(db)
    assert value(db, "select error_code from queue.event_retry") == "RESOURCE_NOT_FOUND"


# --- Invoke ----------------------------------------------------------------------------------------------------------
def invoke(db: Connection, endpoint: FunctionEndpoint, **expected: int) -> None:
    counts = EventDeliverer().run_once(Settings.read({"QUEUE_LAMBDA_ENDPOINT": endpoint.url}), db)
    assert {name: count for name, count in counts.items() if count and name != "sequenced"} == expected


def test_a_batch_is_one_invocation(db: Connection, endpoint: FunctionEndpoint) -> None:
    endpoint.invocations.clear()
    endpoint.answer = lambda _: Answer(200)
    source = "{% {'FunctionName': 'f', 'Payload': $events.Data, 'Qualifier': 'live'} %}"
    call_action(db, "lambda:invoke", source, 10)
    put(db, BUS, '{"n":1}', '{"n":2}')
    invoke(db, endpoint, delivered=2)
    (found,) = endpoint.invocations
    assert found.payload == [{"n": 1}, {"n": 2}]
    assert found.path == "/2015-03-31/functions/f/invocations?Qualifier=live"
    assert found.kind == "RequestResponse"


def test_a_literal_invocation_may_be_asynchronous(db: Connection, endpoint: FunctionEndpoint) -> None:
    endpoint.invocations.clear()
    endpoint.answer = lambda _: Answer(202)
    call_action(db, "lambda:invoke", {"FunctionName": "f", "InvocationType": "Event"}, 10)
    put(db, BUS, "1", "2")
    invoke(db, endpoint, delivered=2)
    (found,) = endpoint.invocations
    assert (found.payload, found.kind) == ({}, "Event")


def test_a_refused_invocation_fails_the_batch(db: Connection, endpoint: FunctionEndpoint) -> None:
    answers = {"missing": Answer(404), "failing": Answer(200, {"errorMessage": "no"}, "Unhandled")}
    endpoint.answer = lambda invocation: answers[invocation.path.split("/")[3]]
    cases: list[tuple[object, str]] = [
        ({"FunctionName": "missing"}, "RESOURCE_NOT_FOUND"),
        ({"FunctionName": "failing"}, "COMPUTE_EXECUTION_ERROR"),
        ("{% {'FunctionName': '111122223333:f'} %}", "ACCESS_DENIED"),
        ("{% {'FunctionName': 'f', 'InvocationType': 'DryRun'} %}", "INPUT_TRANSFORMATION_FAILURE"),
        ("{% {'FunctionName': 'f', 'Payload': 'x'} %}", "INPUT_TRANSFORMATION_FAILURE"),
    ]
    for number, (request, _) in enumerate(cases):
        call_action(db, "lambda:invoke", request, 10, name=f"s{number}")
    put(db, BUS, "1", "2")
    invoke(db, endpoint)
    rows = db.execute(
        "select error_code from queue.event_retry r join queue.event_subscriber s using (subscriber_id)"
        " order by s.name, r.number"
    )
    assert [code for (code,) in rows] == [code for _, code in cases for _ in range(2)]
