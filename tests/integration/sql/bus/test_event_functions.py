"""Tests the delivery of events to Lambda functions.

Source: "Targets" of the custom event bus (Amazon EventBridge User Guide,
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus.html). AWS does not document the identifiers in
batchItemFailures, so Penstock chose the event ids.
"""

import json
from collections.abc import Iterator
from threading import Event, Thread
from typing import Any

import psycopg
import pytest

from penstock.events.delivery import step
from penstock.settings import Settings
from penstock.workers.events import EventDeliverer
from tests.integration.sql.conftest import Connect
from tests.support.events import BUS, add_bus, change_state, expire_pauses, put, subscribe, take
from tests.support.function_endpoint import Answer, FunctionEndpoint, Invocation, serve_functions
from tests.support.sql.calls import Connection, create, value
from tests.support.wait import wait_until

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:f"
SYNC: dict[str, object] = {"InvocationType": "REQUEST_RESPONSE"}
WITH_METADATA = {"Type": "WITH_METADATA"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[FunctionEndpoint]:
    with serve_functions() as served:
        yield served


@pytest.fixture(autouse=True)
def _bus(db: Connection, endpoint: FunctionEndpoint) -> None:
    endpoint.invocations.clear()
    endpoint.answer = lambda _: Answer()
    add_bus(db)


def run(db: Connection, endpoint: FunctionEndpoint, **expected: int) -> None:
    """Runs the worker until no bus has work and no invocation is open, and checks what it did."""
    counts = EventDeliverer().run_once(Settings.read({"QUEUE_LAMBDA_ENDPOINT": endpoint.url}), db)
    assert {name: count for name, count in counts.items() if count and name != "sequenced"} == expected


def batches(size: int, window: int = 0) -> dict[str, int]:
    return {"MaxBatchSize": size, "MaxBatchWindowInSeconds": window}


def keep_order(db: Connection) -> None:
    db.execute("update queue.event_subscriber set type = 'FIFO'")


def test_a_batch_is_one_invocation_with_an_array(db: Connection, endpoint: FunctionEndpoint) -> None:
    subscribe(db, FUNCTION, BatchConfiguration=batches(2), parameters={"Qualifier": "live"})
    put(db, BUS, '{"n": 1}', "[2]", '"3"', groups=["g", "g", None])
    run(db, endpoint, delivered=3)
    found = sorted(endpoint.payloads, key=len)
    assert found == [["3"], [{"n": 1}, [2]]]
    assert {(each.path, each.kind) for each in endpoint.invocations} == {
        ("/2015-03-31/functions/f/invocations?Qualifier=live", "Event")
    }
    assert value(db, "select count(*) from queue.event_retry") == 0
    run(db, endpoint)


def test_a_batch_size_of_one_sends_the_event_without_an_array(db: Connection, endpoint: FunctionEndpoint) -> None:
    subscribe(db, FUNCTION, BatchConfiguration=batches(1), parameters=SYNC, Transformer=WITH_METADATA)
    db.execute(
        "select queue.put_bus_events(%s, '000000000000', array[gen_random_uuid()], '{2}', array['\\x00ff0a'::bytea])",
        [BUS],
    )
    run(db, endpoint, delivered=1)
    (invocation,) = endpoint.invocations
    assert invocation.payload["Data"] == "AP8K"
    assert invocation.payload["SystemMetadata"]["ContentType"] == "application/octet-stream"
    assert invocation.kind == "RequestResponse"


def test_events_that_the_function_reports_are_tried_again(db: Connection, endpoint: FunctionEndpoint) -> None:
    failures = create(db, "failures")
    subscribe(
        db, FUNCTION, parameters=SYNC, Transformer=WITH_METADATA, OnFailureConfiguration={"Arn": failures},
        RetryPolicy={"MaxRetryAttempts": 1, "MaxEventAgeInSeconds": 300},
    )  # fmt: skip

    def answer(invocation: Invocation) -> Answer:
        ids = [each["SystemMetadata"]["aws:EventId"] for each in invocation.payload if each["Data"] == "bad"]
        return Answer(200, {"batchItemFailures": [{"itemIdentifier": event_id} for event_id in ids]})

    endpoint.answer = answer
    put(db, BUS, '"good"', '"bad"')
    run(db, endpoint, delivered=1)
    assert value(db, "select error_code from queue.event_retry") == "PARTIAL_BATCH_FAILURE"
    expire_pauses(db)
    run(db, endpoint, failed=1)
    assert [[each["Data"] for each in payload] for payload in endpoint.payloads] == [["good", "bad"], ["bad"]]
    (record,) = [json.loads(body) for body in take(db, failures)]
    assert (record["errorCode"], record["retryAttempts"]) == ("PARTIAL_BATCH_FAILURE", 1)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer(200, {"errorType": "E", "errorMessage": "no"}, "Unhandled"), "COMPUTE_EXECUTION_ERROR"),
        (Answer(200, {"batchItemFailures": [{"itemIdentifier": "unknown"}]}), "CUSTOMER_VALIDATION"),
        (Answer(403), "ACCESS_DENIED"),
        (Answer(404), "RESOURCE_NOT_FOUND"),
        (Answer(413), "REQUEST_TOO_LARGE"),
        (Answer(429), "THROTTLING"),
        (Answer(500), "INVOCATION_DEPENDENCY_INTERNAL"),
        (Answer(200, "any text"), None),
        (Answer(200, {"batchItemFailures": []}), None),
    ],
)
def test_an_answer_decides_about_the_whole_batch(
    db: Connection, endpoint: FunctionEndpoint, answer: Answer, code: str | None
) -> None:
    subscribe(db, FUNCTION, parameters=SYNC)
    endpoint.answer = lambda _: answer
    put(db, BUS, "1", "2")
    run(db, endpoint, **({"delivered": 2} if code is None else {}))
    codes = [row[0] for row in db.execute("select error_code from queue.event_retry").fetchall()]
    assert codes == ([] if code is None else [code, code])
    assert len(endpoint.invocations) == 1


def test_an_unreachable_endpoint_ends_no_delivery(db: Connection, endpoint: FunctionEndpoint) -> None:
    subscribe(db, FUNCTION, RetryPolicy={"MaxRetryAttempts": 0})
    put(db, BUS, "1")
    nowhere = FunctionEndpoint()
    nowhere.url = "http://127.0.0.1:9"
    run(db, nowhere)
    assert value(db, "select error_code from queue.event_retry") == "INTERNAL_SERVER_ERROR"
    expire_pauses(db)
    run(db, endpoint, delivered=1)


def test_a_failed_event_holds_up_its_group_only(db: Connection, endpoint: FunctionEndpoint) -> None:
    subscribe(db, FUNCTION, BatchConfiguration=batches(2), parameters=SYNC)
    keep_order(db)
    refused = {"a1"}

    def answer(invocation: Invocation) -> Answer:
        return Answer(500) if refused & set(invocation.payload) else Answer(200)

    endpoint.answer = answer
    put(db, BUS, '"b1"', '"b2"', '"a1"', '"a2"', groups=["b", "b", "a", "a"])
    put(db, BUS, '"b3"', '"a3"', '"free"', groups=["b", "a", None])
    run(db, endpoint, delivered=4)
    refused.clear()
    put(db, BUS, '"a4"', groups=["a"])
    run(db, endpoint)
    expire_pauses(db)
    run(db, endpoint, delivered=4)
    sent = [each for payload in endpoint.payloads for each in payload]
    assert [each for each in sent if each.startswith("b")] == ["b1", "b2", "b3"]
    assert [each for each in sent if each.startswith("a")][-4:] == ["a1", "a2", "a3", "a4"]
    assert value(db, "select count(*) from queue.event_retry") == 0


def test_groups_arrive_in_order_from_many_batches(db: Connection, endpoint: FunctionEndpoint) -> None:
    subscribe(db, FUNCTION, BatchConfiguration=batches(7), parameters=SYNC)
    keep_order(db)
    names = "abcdefghij"
    for n in range(20):
        put(db, BUS, *(f'"{name}{n}"' for name in names), groups=list(names))
    run(db, endpoint, delivered=200)
    sent = [each for payload in endpoint.payloads for each in payload]
    for name in names:
        assert [each for each in sent if each.startswith(name)] == [f"{name}{n}" for n in range(20)]


def test_a_window_waits_for_a_full_batch(db: Connection, endpoint: FunctionEndpoint) -> None:
    subscribe(db, FUNCTION, BatchConfiguration=batches(3, window=300), parameters=SYNC)
    put(db, BUS, "1", "2")
    run(db, endpoint)
    put(db, BUS, "3", "4")
    run(db, endpoint, delivered=3)
    assert sorted(endpoint.payloads[0]) == [1, 2, 3]
    expire_pauses(db)  # the end of the window
    run(db, endpoint, delivered=1)
    keep_order(db)
    put(db, BUS, "5", "6", groups=["g", "g"])
    run(db, endpoint)
    put(db, BUS, "7", groups=["g"])
    run(db, endpoint, delivered=3)
    assert endpoint.payloads[-1] == [5, 6, 7]


def test_a_large_batch_becomes_several_invocations(db: Connection, endpoint: FunctionEndpoint) -> None:
    subscribe(db, FUNCTION, BatchConfiguration=batches(100))
    put(db, BUS, *(json.dumps(str(n) * 300_000) for n in range(8)))
    run(db, endpoint, delivered=8)
    assert sorted(len(payload) for payload in endpoint.payloads) == [2, 3, 3]


def test_a_stopped_subscriber_keeps_its_events(db: Connection, endpoint: FunctionEndpoint) -> None:
    arn = subscribe(db, FUNCTION)
    endpoint.answer = lambda _: Answer(500)
    put(db, BUS, "1")
    run(db, endpoint)
    change_state(db, arn, "STOPPED")
    expire_pauses(db)
    run(db, endpoint)
    endpoint.answer = lambda _: Answer()
    change_state(db, arn, "RUNNING")
    run(db, endpoint, delivered=1)


def test_a_function_delays_no_queue_and_a_dead_worker_loses_nothing(
    db: Connection, endpoint: FunctionEndpoint, connect: Connect
) -> None:
    """The worker dies while the function runs. Another worker repeats the invocation after the lease, and the late
    answer of the first changes nothing."""
    queue = create(db, "q")
    subscribe(db, FUNCTION, "function", parameters=SYNC)
    subscribe(db, queue, "queue")
    answers = Event()
    invoked: list[Any] = []

    def answer(invocation: Invocation) -> Answer:
        invoked.append(invocation.payload)
        answers.wait(20)
        return Answer(200)

    endpoint.answer = answer
    put(db, BUS, "1")
    worker = connect()
    settings = Settings.read({"QUEUE_LAMBDA_ENDPOINT": endpoint.url})
    ended: list[object] = []

    def work() -> None:
        try:
            EventDeliverer().run_once(settings, worker)
        except psycopg.Error as error:
            ended.append(error)

    thread = Thread(target=work)
    thread.start()
    wait_until(lambda: len(invoked) == 1)
    put(db, BUS, "2")
    found: list[str] = []

    def has_both() -> bool:
        found.extend(take(db, queue))
        return sorted(found) == ["1", "2"]

    wait_until(has_both)
    wait_until(lambda: len(invoked) == 2)
    db.execute("select pg_terminate_backend(%s)", [worker.info.backend_pid])
    thread.join()
    assert len(ended) == 1
    answers.set()
    run(db, endpoint)
    expire_pauses(db)
    run(db, endpoint, delivered=2)
    assert sorted(each for payload in invoked for each in payload) == [1, 1, 2, 2]


def test_the_late_outcome_of_a_lost_lease_changes_nothing(
    db: Connection, endpoint: FunctionEndpoint, connect: Connect
) -> None:
    subscribe(db, FUNCTION, parameters=SYNC)

    def answer(_: Invocation) -> Answer:
        with connect() as other:
            other.execute("update queue.event_retry set lease = gen_random_uuid()")
        return Answer(200)

    endpoint.answer = answer
    put(db, BUS, "1")
    run(db, endpoint)
    assert value(db, "select count(*) from queue.event_retry where lease is not null") == 1


INVOKE = {"Input": "{% {'FunctionName': 'f', 'Payload': $events.Data} %}"}


@pytest.mark.parametrize(
    ("target", "parameters"),
    [(FUNCTION, SYNC), ("arn:aws:events:::aws-sdk:lambda:invoke", INVOKE)],
    ids=["function", "universal target"],
)
def test_a_worker_that_is_late_sends_nothing(
    db: Connection,
    endpoint: FunctionEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    target: str,
    parameters: dict[str, object],
) -> None:
    """A worker can pause between the beginning of the lease and its first call, as a stopped process does. Another
    worker can have the lease at the end of the pause."""
    subscribe(db, target, parameters=parameters)
    put(db, BUS, "1", "2")
    with monkeypatch.context() as late:
        late.setattr(step, "SENDING_SECONDS", 0.0)
        run(db, endpoint)
    assert endpoint.invocations == []
    rows = db.execute("select lease is not null, attempts from queue.event_retry").fetchall()
    assert rows == [(True, 0), (True, 0)]
    expire_pauses(db)
    run(db, endpoint, delivered=2)
    assert endpoint.payloads == [[1, 2]]


def test_a_subscriber_reads_no_further_while_many_events_wait(db: Connection, endpoint: FunctionEndpoint) -> None:
    subscribe(db, FUNCTION)
    db.execute(
        "insert into queue.event_retry (bus_id, subscriber_id, number, ingested_at, attempts, due_at, carrier) "
        "select bus_id, subscriber_id, -n, now(), 1, now() + interval '1 day', carrier "
        "from queue.event_subscriber, generate_series(1, 10000) n"
    )
    put(db, BUS, "1")
    run(db, endpoint)
    assert endpoint.invocations == []
    db.execute("delete from queue.event_retry where number < -5000")
    run(db, endpoint, delivered=1)
