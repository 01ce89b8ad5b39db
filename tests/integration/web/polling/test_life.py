"""Tests mappings while processes start and end, and tests the rights that a mapping needs. Sources:
docs/reference/event_source_mappings.md.
"""

import json
import threading
from collections.abc import Iterator
from typing import Any

import boto3
import httpx
import psycopg
import pytest
from botocore.exceptions import ClientError

from tests.support.conformance.access_keys import OWNER, PARTNER, SIGV4, key_ring, new_key
from tests.support.database import Database
from tests.support.functions.server import FunctionServer
from tests.support.mappings.harness import Functions, Harness, running_functions
from tests.support.programs.penstock_service import Service, running_service
from tests.support.wait import wait_until
from tests.support.web.prometheus_text import scrape


def test_a_killed_worker_loses_nothing(database: Database) -> None:
    """The worker process dies during an invocation. Another process takes over the mapping and delivers the message
    again."""
    began, gate = threading.Event(), threading.Event()

    def code(event: Any) -> None:
        if not began.is_set():
            began.set()
            assert gate.wait(60)

    with running_functions(f=code) as functions:
        settings = {"QUEUE_LAMBDA_ENDPOINT": functions.url}
        with running_service(database.api_dsn, **settings) as first:
            sqs = first.sqs()
            url = sqs.create_queue(QueueName="q")["QueueUrl"]
            attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
            first.client("lambda").create_event_source_mapping(EventSourceArn=attributes["QueueArn"], FunctionName="f")
            sqs.send_message(QueueUrl=url, MessageBody="m")
            assert began.wait(30)
            first.process.kill()
            first.process.join()
        gate.set()
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            connection.execute("update queue.poller set alive_until = clock_timestamp()")
        with running_service(database.api_dsn, **settings) as second:
            handle = functions.invocations[0].event["Records"][0]["receiptHandle"]
            second.sqs().change_message_visibility(QueueUrl="q", ReceiptHandle=handle, VisibilityTimeout=0)
            functions.wait(lambda: len(functions.invocations) == 2)
            with psycopg.connect(database.dsn, autocommit=True) as connection:
                left = "select count(*) from queue.live_message"
                wait_until(lambda: connection.execute(left).fetchone() == (0,))
        assert functions.seen() == ["m", "m"]
        counts = [
            invocation.event["Records"][0]["attributes"]["ApproximateReceiveCount"]
            for invocation in functions.invocations
        ]
        assert counts == ["1", "2"]


def test_a_process_that_stops_ends_its_invocations(database: Database) -> None:
    """The process stops receiving, deletes the messages that the function has handled, and leaves the mapping to
    another process."""
    began, gate = threading.Event(), threading.Event()

    def code(_: Any) -> None:
        began.set()
        assert gate.wait(60)

    with running_functions(f=code) as functions:
        settings = {"QUEUE_LAMBDA_ENDPOINT": functions.url}
        with running_service(database.api_dsn, **settings) as first:
            sqs = first.sqs()
            url = sqs.create_queue(QueueName="q")["QueueUrl"]
            names = ["QueueArn"]
            arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]["QueueArn"]
            first.client("lambda").create_event_source_mapping(EventSourceArn=arn, FunctionName="f")
            sqs.send_message(QueueUrl=url, MessageBody="before")
            assert began.wait(30)
            first.process.terminate()
            gate.set()
            assert first.exit_code() == 0
        with running_service(database.api_dsn, **settings) as second:
            second.sqs().send_message(QueueUrl="q", MessageBody="after")
            functions.wait(lambda: functions.seen() == ["before", "after"])


@pytest.mark.parametrize("settings", [{}, {"QUEUE_LAMBDA_ENDPOINT": "x", "QUEUE_LAMBDA_FUNCTIONS": "other"}])
def test_a_process_leaves_a_mapping_that_it_cannot_invoke_to_others(
    database: Database, settings: dict[str, str]
) -> None:
    """A rolling change of the settings does not disable a mapping."""
    unclaimed = (
        "select count(*) from queue.event_source_mapping m where enabled and not exists (select from queue.poller p"
        " where p.poller_id = m.poller_id and p.alive_until > clock_timestamp())"
    )
    arn = f"arn:aws:sqs:us-east-1:{OWNER}:q"
    with running_functions(f=lambda _: None) as functions:
        able = {"QUEUE_LAMBDA_ENDPOINT": functions.url}
        unable = settings and {**settings, **able}
        with (
            running_service(database.api_dsn, **unable) as left,
            psycopg.connect(database.dsn, autocommit=True) as connection,
        ):
            with running_service(database.api_dsn, **able) as first:
                first.sqs().create_queue(QueueName="q")
                uuid = first.client("lambda").create_event_source_mapping(EventSourceArn=arn, FunctionName="f")["UUID"]
                first.sqs().send_message(QueueUrl="q", MessageBody="before")
                functions.wait(lambda: functions.seen() == ["before"])
            wait_until(lambda: connection.execute(unclaimed).fetchone() == (1,))
            assert left.client("lambda").get_event_source_mapping(UUID=uuid)["State"] == "Enabled"
            connection.execute("update queue.event_source_mapping set updated_at = updated_at - interval '2 minutes'")
            connection.execute("update queue.poller set alive_until = alive_until - interval '2 minutes'")
            facts = "select stopped_mapping from queue.read_verdict_facts(array[%s])"
            ((reason,),) = connection.execute(facts, [arn]).fetchall()
            assert reason.startswith("No process polls for the mapping to arn:aws:lambda:")
            with running_service(database.api_dsn, **able) as second:
                second.sqs().send_message(QueueUrl="q", MessageBody="after")
                functions.wait(lambda: functions.seen() == ["before", "after"])
                assert connection.execute(facts, [arn]).fetchall() == [(None,)]


def test_a_function_has_to_be_listed(database: Database) -> None:
    with running_service(
        database.api_dsn, QUEUE_LAMBDA_ENDPOINT="http://127.0.0.1:9", QUEUE_LAMBDA_FUNCTIONS="other*"
    ) as service:
        queue = service.sqs().create_queue(QueueName="q")["QueueUrl"]
        names = ["QueueArn"]
        arn = service.sqs().get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"]["QueueArn"]
        client = service.client("lambda")
        with pytest.raises(ClientError, match="QUEUE_LAMBDA_FUNCTIONS"):
            client.create_event_source_mapping(EventSourceArn=arn, FunctionName="mine")
        client.create_event_source_mapping(EventSourceArn=arn, FunctionName="other-one")


def test_without_an_endpoint_no_function_can_be_mapped(database: Database) -> None:
    with running_service(database.api_dsn) as service:
        url = service.sqs().create_queue(QueueName="q")["QueueUrl"]
        names = ["QueueArn"]
        arn = service.sqs().get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]["QueueArn"]
        with pytest.raises(ClientError, match="QUEUE_LAMBDA_ENDPOINT"):
            service.client("lambda").create_event_source_mapping(EventSourceArn=arn, FunctionName="f")


def test_functions_have_no_mappings(database: Database) -> None:
    """The functions offer no mappings, because no process would poll for them."""
    with FunctionServer(database.pooled_dsn) as functions:
        response = httpx.get(f"{functions.endpoint_url}/2015-03-31/event-source-mappings")
    assert (response.status_code, response.headers["x-amzn-errortype"]) == (404, "UnknownOperationException")


# --- rights ----------------------------------------------------------------------------------------------------------
@pytest.fixture
def guarded(database: Database) -> Iterator[tuple[Service, Functions]]:
    """Provides a service that verifies signatures and allows only `f` as a function."""
    with running_functions(f=lambda _: None) as functions:
        settings = {**SIGV4, "QUEUE_LAMBDA_ENDPOINT": functions.url, "QUEUE_LAMBDA_FUNCTIONS": "f"}
        with running_service(database.api_dsn, **settings) as service:
            yield service, functions


def client_of(service: Service, key: tuple[str, str], name: str) -> Any:
    return boto3.client(
        name, endpoint_url=service.url, region_name="us-east-1", aws_access_key_id=key[0], aws_secret_access_key=key[1]
    )  # fmt: skip


def user_key(database: Database, name: str, *policies: str, new: bool = True) -> tuple[str, str]:
    with key_ring(database) as ring:
        list(ring.set_user(name, policies, OWNER, new=new))
    return new_key(database, OWNER, name)


def test_a_mapping_ends_with_the_rights_of_its_user(database: Database, guarded: tuple[Service, Functions]) -> None:
    """The mapping then passes no messages to the function and shows the reason."""
    service, functions = guarded
    root = new_key(database, OWNER)
    key = user_key(database, "ann", "admin")
    sqs = client_of(service, root, "sqs")
    url = sqs.create_queue(QueueName="q")["QueueUrl"]
    client = client_of(service, key, "lambda")
    arn = f"arn:aws:sqs:us-east-1:{OWNER}:q"
    uuid = client.create_event_source_mapping(EventSourceArn=arn, FunctionName="f", BatchSize=1)["UUID"]
    sqs.send_message(QueueUrl=url, MessageBody="before")
    functions.wait(lambda: functions.seen() == ["before"])
    user_key(database, "ann", "read", new=False)
    # The waiting poll started with the old rights. The poll can still deliver messages that arrive within a second
    # after the rights check.
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        connection.execute("update queue.event_source_mapping set revision = revision + 1")
        connection.execute("notify penstock, 'mappings'")
    owner = client_of(service, root, "lambda")
    wait_until(lambda: owner.get_event_source_mapping(UUID=uuid)["State"] == "Disabled")
    sqs.send_message(QueueUrl=url, MessageBody="after")
    shown = owner.get_event_source_mapping(UUID=uuid)
    assert "not authorized" in shown["StateTransitionReason"]
    assert "LastProcessingResult" not in shown  # AWS does not show LastProcessingResult.
    assert sqs.receive_message(QueueUrl=url)["Messages"][0]["Body"] == "after"
    assert functions.seen() == ["before"]


def test_a_user_needs_rights_on_the_queue_to_create_a_mapping(
    database: Database, guarded: tuple[Service, Functions]
) -> None:
    """A user without the right to receive from a queue can neither send the queue's messages to a function nor see the
    queue's mappings.
    """
    service, _ = guarded
    root = new_key(database, OWNER)
    client_of(service, root, "sqs").create_queue(QueueName="q")
    arn = f"arn:aws:sqs:us-east-1:{OWNER}:q"
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "lambda:*", "Resource": "*"}]}
    only_lambda = client_of(service, user_key(database, "bob", json.dumps(policy)), "lambda")
    with pytest.raises(ClientError, match="sqs:receivemessage"):
        only_lambda.create_event_source_mapping(EventSourceArn=arn, FunctionName="f")
    reader = client_of(service, user_key(database, "eve", "read"), "lambda")
    with pytest.raises(ClientError, match="CreateEventSourceMapping"):
        reader.create_event_source_mapping(EventSourceArn=arn, FunctionName="f")
    owner = client_of(service, root, "lambda")
    with pytest.raises(ClientError, match="QUEUE_LAMBDA_FUNCTIONS"):
        owner.create_event_source_mapping(EventSourceArn=arn, FunctionName="g")
    uuid = owner.create_event_source_mapping(EventSourceArn=arn, FunctionName="f")["UUID"]
    assert reader.get_event_source_mapping(UUID=uuid)["UUID"] == uuid
    partner = client_of(service, new_key(database, PARTNER), "lambda")
    with pytest.raises(ClientError) as caught:
        partner.get_event_source_mapping(UUID=uuid)
    assert caught.value.response["Error"]["Code"] == "ResourceNotFoundException"
    with pytest.raises(ClientError, match="account"):
        partner.create_event_source_mapping(EventSourceArn=arn, FunctionName="f")


def test_a_policy_holds_for_each_spelling_of_an_id(database: Database, guarded: tuple[Service, Functions]) -> None:
    service, _ = guarded
    root = new_key(database, OWNER)
    client_of(service, root, "sqs").create_queue(QueueName="q")
    owner = client_of(service, root, "lambda")
    arn = f"arn:aws:sqs:us-east-1:{OWNER}:q"
    made = owner.create_event_source_mapping(EventSourceArn=arn, FunctionName="f")
    statements = [
        {"Effect": "Allow", "Action": "*", "Resource": "*"},
        {"Effect": "Deny", "Action": "lambda:*", "Resource": made["EventSourceMappingArn"]},
    ]
    policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
    client = client_of(service, user_key(database, "bob", policy), "lambda")
    uuid = made["UUID"]
    for spelling in (uuid, uuid.upper(), f"{uuid.replace('-', '')}----"):
        with pytest.raises(ClientError):
            client.delete_event_source_mapping(UUID=spelling)
        with pytest.raises(ClientError):
            client.tag_resource(Resource=made["EventSourceMappingArn"].replace(uuid, spelling), Tags={"a": "b"})
    assert "Tags" not in owner.get_event_source_mapping(UUID=uuid)


# --- counts ----------------------------------------------------------------------------------------------------------
# /metrics counts the work of mappings for each queue, and the REST API counts it for each mapping.
#
# Meanings: "Event source mapping metrics" (Types of metrics for Lambda functions, AWS Lambda Developer Guide),
# https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html


COUNTERS = {
    "invocations": 3,
    "failed_invocations": 1,
    "polled_messages": 4,
    "filtered_messages": 1,
    "invoked_messages": 3,
    "failed_messages": 1,
    "deleted_messages": 2,
}


def shown(harness: Harness, mapping: str) -> dict[str, Any]:
    """Returns the mapping as the REST API describes it. A change of any mapping makes the poller store its counts."""
    httpx.patch(
        f"{harness.service.url}/v1/mappings/{harness.map_of_nothing()}", json={"enabled": False}
    ).raise_for_status()
    found: dict[str, Any] = httpx.get(f"{harness.service.url}/v1/mappings/{mapping}").json()
    return found


def until_result(harness: Harness, mapping: str, result: str) -> None:
    wait_until(lambda: shown(harness, mapping)["last_result"] == result)


def test_messages_and_invocations(harness: Harness) -> None:
    """Sends three messages: one succeeds, one fails once, and a filter drops one."""
    url, arn = harness.queue()
    failures = iter([ValueError("once")])

    def code(event: dict[str, Any]) -> None:
        (record,) = event["Records"]
        if record["body"] == '{"n": "bad"}' and (error := next(failures, None)) is not None:
            harness.show_again(record)
            raise error

    name = harness.function(code)
    pattern = json.dumps({"body": {"n": [{"exists": True}]}})
    mapping = harness.map(arn, name, BatchSize=1, FilterCriteria={"Filters": [{"Pattern": pattern}]})
    for body in ('{"n": "bad"}', '{"n": "good"}', "other"):
        harness.sqs.send_message(QueueUrl=url, MessageBody=body)
    harness.until_empty(url)
    queue = arn.rpartition(":")[2]

    def counted() -> dict[str, float]:
        page = scrape(harness.service.url)
        return {name: page.value(f"penstock_mapping_{name}_total", queue=queue) for name in COUNTERS}

    # The service counts a message after the service has deleted it.
    wait_until(lambda: counted() == COUNTERS)
    found = scrape(harness.service.url)
    for name in ("invocation_duration_seconds", "oldest_message_age_seconds"):
        assert found.value(f"penstock_mapping_{name}_count", queue=queue) == 3
    wait_until(lambda: shown(harness, mapping)["invocations"] == 3)
    now = shown(harness, mapping)
    assert now["failed_invocations"] == 1
    harness.sqs.send_message(QueueUrl=url, MessageBody='{"n": "last"}')  # The failed invocation can be the last to end.
    wait_until(lambda: [shown(harness, mapping)[name] for name in ("failing_since", "last_result")] == [None, "OK"])


def test_since_when_it_fails(harness: Harness) -> None:
    """The failing period starts with the first failure and ends with a success. Later failures do not change the start
    of the period."""
    url, arn = harness.queue()
    responses: list[Any] = [b"{", {"batchItemFailures": 1}, None]
    name = harness.function(lambda _: responses.pop(0))
    mapping = harness.map(arn, name, FunctionResponseTypes=["ReportBatchItemFailures"])
    assert shown(harness, mapping)["failing_since"] is None
    harness.sqs.send_message(QueueUrl=url, MessageBody="m")
    seen = []
    for result in ("PROBLEM: the response is not JSON", "PROBLEM: batchItemFailures is not a list"):
        until_result(harness, mapping, result)
        seen.append(shown(harness, mapping)["failing_since"])
        harness.show_again(harness.invocations(name)[-1].event["Records"][0])
    assert seen[0] is not None
    assert seen[1] == seen[0]
    harness.until_empty(url)
    wait_until(lambda: shown(harness, mapping)["failing_since"] is None)
    wait_until(lambda: shown(harness, mapping)["invocations"] == 3)
    assert shown(harness, mapping)["failed_invocations"] == 2


def test_a_function_that_cannot_be_reached_is_in_the_verdict(harness: Harness) -> None:
    """The only receiver counts as failing after ten seconds without a success (docs/reference/verdicts.md)."""
    url, arn = harness.queue()
    mapping = harness.map(arn, "http://127.0.0.1:1/")
    harness.sqs.send_message(QueueUrl=url, MessageBody="m")
    wait_until(lambda: shown(harness, mapping)["failing_since"] is not None)
    with psycopg.connect(harness.dsn, autocommit=True) as connection:
        earlier = "update queue.event_source_mapping set failing_since = failing_since - interval '10 seconds'"
        connection.execute(f"{earlier} where mapping_id = %s".encode(), (mapping,))

    def verdict() -> dict[str, Any]:
        scrape(harness.service.url)  # which measures the queues
        lag = httpx.get(f"{harness.service.url}/v1/metrics/lag").json()["queues"]
        found: dict[str, Any] = next(queue["verdict"] for queue in lag if queue["name"] == arn.rpartition(":")[2])
        return found

    wait_until(lambda: verdict()["cause"] == "function_fails")
    text = "A function that the queue triggers fails. The target cannot be reached: Connection refused."
    assert (verdict()["kind"], verdict()["cause_text"]) == ("poisoned", text)
