"""Tests requests as spans. The sources are W3C Trace Context, and OpenTelemetry's semantic conventions for HTTP
servers, messaging (AWS SQS, AWS SNS) and databases (PostgreSQL).
"""

import json
import socket
from typing import Any

import httpx
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.integration.web.tracing.conftest import PARENT, call, new_trace, traced_service, traceparent
from tests.support.database import TestServer
from tests.support.programs.penstock_service import Service
from tests.support.tracing.collector import Collector, attributes, running_collector


def create_queue(http: httpx.Client, name: str, **more: Any) -> str:
    return str(call(http, "CreateQueue", QueueName=name, **more)["QueueUrl"])


def send(http: httpx.Client, url: str, trace: str, body: str = "hello") -> None:
    call(http, "SendMessage", {"traceparent": traceparent(trace)}, QueueUrl=url, MessageBody=body)


def header_of(span: Span) -> str:
    """Returns a span in X-Ray's notation ("Tracing header")."""
    trace = span.trace_id.hex()
    return f"Root=1-{trace[:8]}-{trace[8:]};Parent={span.span_id.hex()};Sampled=1"


def received_header(http: httpx.Client, url: str) -> str | None:
    """Returns the AWSTraceHeader of the next message."""
    got = call(http, "ReceiveMessage", QueueUrl=url, MessageSystemAttributeNames=["AWSTraceHeader"])
    found: str | None = got["Messages"][0].get("Attributes", {}).get("AWSTraceHeader")
    return found


def test_a_send_is_a_child_of_its_caller(http: httpx.Client, collector: Collector) -> None:
    url, trace = create_queue(http, "sent"), new_trace()
    headers = {"traceparent": traceparent(trace), "tracestate": "rojo=1,congo=t61"}
    response = http.post(url, headers=headers, data={"Action": "SendMessage", "MessageBody": "secret"})
    span = collector.request(trace)
    assert (span.name, span.parent_span_id.hex(), span.trace_state) == ("send sent", PARENT, "rojo=1,congo=t61")
    assert span.status.code == Status.STATUS_CODE_UNSET
    (message,) = call(http, "ReceiveMessage", QueueUrl=url)["Messages"]
    host = httpx.URL(url)
    assert attributes(span.attributes) == {
        "messaging.system": "aws_sqs",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.destination.name": "sent",
        "messaging.message.id": message["MessageId"],
        "aws.sqs.queue.url": "/000000000000/sent",
        "server.address": host.host,
        "server.port": host.port,
        "http.request.method": "POST",
        "url.path": "/000000000000/sent",
        "url.scheme": "http",
        "client.address": "127.0.0.1",
        "http.response.status_code": 200,
        "aws.request_id": response.headers["x-amzn-requestid"],
    }
    assert {"service.name": "orders-queue"}.items() <= collector.resource.items()


def test_calls_of_the_database(http: httpx.Client, collector: Collector) -> None:
    """The span contains the query's name, but no values."""
    url, trace = create_queue(http, "called"), new_trace()
    send(http, url, trace, "secret")
    (call_span,) = collector.calls(collector.request(trace))
    assert (call_span.name, call_span.kind) == ("queue.send_messages", Span.SPAN_KIND_CLIENT)
    assert attributes(call_span.attributes) == {
        "db.system.name": "postgresql",
        "db.operation.name": "SELECT",
        "db.query.summary": "SELECT queue.send_messages",
        "db.stored_procedure.name": "queue.send_messages",
    }
    assert b"secret" not in b"".join(span.SerializeToString() for span in collector.spans)


def test_a_batch(http: httpx.Client, collector: Collector) -> None:
    url, trace = create_queue(http, "batch"), new_trace()
    entries = [{"Id": str(n), "MessageBody": "x"} for n in range(3)]
    call(http, "SendMessageBatch", {"traceparent": traceparent(trace)}, QueueUrl=url, Entries=entries)
    span = collector.request(trace)
    assert span.name == "send batch"
    assert attributes(span.attributes)["messaging.batch.message_count"] == 3
    (call_span,) = collector.calls(span)
    assert attributes(call_span.attributes)["db.operation.batch.size"] == 3


def test_the_message_names_the_span_that_sent_it(http: httpx.Client, collector: Collector) -> None:
    url, trace = create_queue(http, "named"), new_trace()
    send(http, url, trace)
    assert received_header(http, url) == header_of(collector.request(trace))


def test_a_receive_links_to_those_who_sent(http: httpx.Client, collector: Collector) -> None:
    """The span contains a link for each message that has a trace."""
    url = create_queue(http, "linked")
    traces = [new_trace(), new_trace()]
    for trace in traces:
        send(http, url, trace)
    call(http, "SendMessage", QueueUrl=url, MessageBody="untraced")
    own = new_trace()
    got: list[Any] = []
    while len(got) < 3:  # a receive can return fewer messages than the queue contains
        members = {"QueueUrl": url, "MaxNumberOfMessages": 10}
        got += call(http, "ReceiveMessage", {"traceparent": traceparent(own)}, **members).get("Messages", [])
    senders = {(trace, collector.request(trace).span_id.hex()) for trace in traces}
    collector.wait(lambda _: len(receives(collector, own)) > 0 and links(receives(collector, own)) == senders)
    spans = receives(collector, own)
    assert {span.name for span in spans} == {"receive linked"}
    assert sum(attributes(span.attributes)["messaging.batch.message_count"] for span in spans) == 3
    assert attributes(spans[0].attributes)["messaging.operation.type"] == "receive"


def receives(collector: Collector, trace: str) -> list[Span]:
    return [s for s in collector.spans if s.trace_id.hex() == trace and s.kind == Span.SPAN_KIND_SERVER]


def links(spans: list[Span]) -> set[tuple[str, str]]:
    return {(link.trace_id.hex(), link.span_id.hex()) for span in spans for link in span.links}


def test_a_delete_settles(http: httpx.Client, collector: Collector) -> None:
    url, trace = create_queue(http, "settled"), new_trace()
    call(http, "SendMessage", QueueUrl=url, MessageBody="x")
    (message,) = call(http, "ReceiveMessage", QueueUrl=url)["Messages"]
    members = {"QueueUrl": url, "ReceiptHandle": message["ReceiptHandle"]}
    call(http, "DeleteMessage", {"traceparent": traceparent(trace)}, **members)
    span = collector.request(trace)
    assert span.name == "delete settled"
    found = attributes(span.attributes)
    assert found["messaging.operation.type"] == "settle"
    assert found["messaging.destination.name"] == "settled"
    assert found["messaging.message.id"] == message["MessageId"]
    assert found["aws.sqs.queue.url"] == url
    assert "messaging.batch.message_count" not in found


def test_a_failed_request_records_place_and_cause(http: httpx.Client, collector: Collector) -> None:
    """`error.type` is the code of the error. A server span with a 4xx status is not an error (HTTP semantic
    conventions)."""
    url, trace = create_queue(http, "failing"), new_trace()
    headers = {
        "content-type": "application/x-amz-json-1.0",
        "x-amz-target": "AmazonSQS.DeleteMessage",
        "traceparent": traceparent(trace),
    }
    assert http.post("/", headers=headers, json={"QueueUrl": url, "ReceiptHandle": "x"}).status_code == 400
    span = collector.request(trace)
    assert span.name == "delete failing"
    assert span.status.code == Status.STATUS_CODE_UNSET
    expected = {
        "messaging.system": "aws_sqs",
        "messaging.operation.name": "delete",
        "messaging.operation.type": "settle",
        "messaging.destination.name": "failing",
        "error.type": "ReceiptHandleIsInvalid",
    }
    assert expected.items() <= attributes(span.attributes).items()


def test_a_batch_of_one_is_a_batch(http: httpx.Client, collector: Collector) -> None:
    """ "SHOULD use messaging.batch.message_count for batching APIs and SHOULD NOT use it for single-message APIs"."""
    url, trace = create_queue(http, "one"), new_trace()
    entries = [{"Id": "1", "MessageBody": "x"}]
    call(http, "SendMessageBatch", {"traceparent": traceparent(trace)}, QueueUrl=url, Entries=entries)
    assert attributes(collector.request(trace).attributes)["messaging.batch.message_count"] == 1


@pytest.mark.parametrize("action", ["CreateTopic", "Subscribe"])
def test_actions_of_sns_go_by_their_names(http: httpx.Client, collector: Collector, action: str) -> None:
    """Spans have the name of the SNS action even in the Query protocol, in which no header names the action."""
    trace, arn = new_trace(), "arn:aws:sns:us-east-1:000000000000:named"
    common = {"Action": action, "Version": "2010-03-31"}
    queue = {"TopicArn": arn, "Protocol": "sqs", "Endpoint": "arn:aws:sqs:us-east-1:000000000000:named"}
    http.post("/", data={**common, "Action": "CreateTopic", "Name": "named"}).raise_for_status()
    members = {"Name": "named"} if action == "CreateTopic" else queue
    http.post("/", data={**common, **members}, headers={"traceparent": traceparent(trace)})
    span = collector.request(trace)
    assert span.name == action
    found = attributes(span.attributes)
    assert (found["messaging.system"], found["messaging.operation.name"]) == ("aws.sns", action)
    assert found.get("aws.sns.topic.arn") == (arn if action == "Subscribe" else None)


def test_whose_spans_they_are(postgres: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES (OpenTelemetry, "General SDK configuration")."""
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.namespace=shop")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "queues")
    instances = set()
    with running_collector() as collector:
        for settings in ({}, {"OTLP_SERVICE_NAME": "ours"}):
            with (
                traced_service(postgres, collector, OTLP_SAMPLE_RATE="1", **settings) as service,
                service.http() as http,
            ):
                http.get("/v1/queues").raise_for_status()
                assert service.stop() == 0
            found = collector.resource
            instances.add(found["service.instance.id"])
            assert found["service.name"] == settings.get("OTLP_SERVICE_NAME", "queues")
            assert found["deployment.environment.name"] == "test"
            assert found["service.namespace"] == "shop"
    assert len(instances) == 2


def test_x_ray_s_header_is_a_parent_too(http: httpx.Client, collector: Collector) -> None:
    url, trace = create_queue(http, "x-ray"), new_trace()
    header = f"Root=1-{trace[:8]}-{trace[8:]};Parent={PARENT};Sampled=1"
    call(http, "SendMessage", {"x-amzn-trace-id": header}, QueueUrl=url, MessageBody="x")
    span = collector.request(trace)
    assert span.parent_span_id.hex() == PARENT
    assert received_header(http, url) == header_of(span)


def test_a_message_s_own_header_wins(http: httpx.Client, collector: Collector) -> None:
    url, trace = create_queue(http, "own"), new_trace()
    own = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
    call(
        http, "SendMessage", {"traceparent": traceparent(trace)}, QueueUrl=url, MessageBody="x",
        MessageSystemAttributes={"AWSTraceHeader": {"DataType": "String", "StringValue": own}},
    )  # fmt: skip
    assert received_header(http, url) == own
    span = collector.request(trace)
    assert span.name == "send own"
    # "The "Send" span SHOULD always link to the creation context that was injected into a message".
    (link,) = span.links
    assert (link.trace_id.hex(), link.span_id.hex()) == ("5759e988bd862e3fe1be46a994272793", "53995c3f42cd8ad8")


def test_an_unsampled_request_is_not_recorded(http: httpx.Client, collector: Collector) -> None:
    """At a sampling rate of 0, the service does not begin a trace either. The message contains the sampling decision of
    the caller.
    """
    url, trace, later = create_queue(http, "unrecorded"), new_trace(), new_trace()
    call(http, "SendMessage", {"traceparent": traceparent(trace, "00")}, QueueUrl=url, MessageBody="x")
    call(http, "SendMessage", QueueUrl=url, MessageBody="y")
    headers = [received_header(http, url), received_header(http, url)]
    assert headers == [f"Root=1-{trace[:8]}-{trace[8:]};Parent={PARENT};Sampled=0", None]
    send(http, url, later)
    collector.request(later)
    assert trace not in {span.trace_id.hex() for span in collector.spans}
    assert all(span.parent_span_id for span in collector.spans)


@pytest.mark.parametrize("bad", ["00-1-2-01", "00-" + "0" * 32 + "-" + PARENT + "-01"])
def test_a_bad_traceparent_is_ignored(http: httpx.Client, bad: str) -> None:
    """ "vendors MUST ignore the traceparent" (3.2.2.3, 3.2.2.4)."""
    url = create_queue(http, "bad")
    call(http, "SendMessage", {"traceparent": bad}, QueueUrl=url, MessageBody="x")
    assert received_header(http, url) is None


def test_the_native_api(http: httpx.Client, collector: Collector) -> None:
    """Spans have the names of routes, and spans about messages have the same attributes as SQS spans."""
    trace, other, failed = new_trace(), new_trace(), new_trace()
    create_queue(http, "native")
    body = {"message": {"a": 1}}
    http.post("/v1/queues/native/messages", json=body, headers={"traceparent": traceparent(trace)})
    http.get("/v1/queues/native", headers={"traceparent": traceparent(other)})
    http.get("/v1/queues/nowhere", headers={"traceparent": traceparent(failed)})
    span = collector.request(trace)
    assert span.name == "send native"
    assert attributes(span.attributes)["http.response.status_code"] == 201
    span = collector.request(other)
    assert span.name == "GET /v1/queues/{name}"
    assert attributes(span.attributes)["http.route"] == "/v1/queues/{name}"
    span = collector.request(failed)
    assert attributes(span.attributes)["http.response.status_code"] == 404
    assert span.status.code == Status.STATUS_CODE_UNSET


def test_other_actions_go_by_their_names(http: httpx.Client, collector: Collector) -> None:
    trace = new_trace()
    call(http, "ListQueues", {"traceparent": traceparent(trace)})
    assert collector.request(trace).name == "ListQueues"


def test_a_publish_reaches_queues_with_its_trace(service: Service, http: httpx.Client, collector: Collector) -> None:
    """The trace continues in subscribed queues (SNS Developer Guide, "Active tracing")."""
    url, trace = create_queue(http, "subscribed"), new_trace()
    sns = service.client("sns")
    topic = sns.create_topic(Name="news")["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint="arn:aws:sqs:us-east-1:000000000000:subscribed")
    sns.close()
    form = {"Action": "Publish", "Version": "2010-03-31", "TopicArn": topic, "Message": "x"}
    http.post("/", data=form, headers={"traceparent": traceparent(trace)}).raise_for_status()
    span = collector.request(trace)
    assert span.name == "send news"
    assert attributes(span.attributes)["messaging.system"] == "aws.sns"
    assert received_header(http, url) == header_of(span)


def test_events_and_transactions(http: httpx.Client, collector: Collector) -> None:
    url = create_queue(http, "bound")
    http.post("/v1/events/a.b/subscriptions", json={"queue_name": "bound"}).raise_for_status()
    trace, other = new_trace(), new_trace()
    response = http.post("/v1/events/a.b", json={"message": {}}, headers={"traceparent": traceparent(trace)})
    response.raise_for_status()
    span = collector.request(trace)
    assert span.name == "send a.b"
    assert received_header(http, url) == header_of(span)
    body = {"send": [{"queue": "bound", "message": 1}], "publish": [{"routing_key": "a.b", "message": {}}]}
    http.post("/v1/transactions", json=body, headers={"traceparent": traceparent(other)}).raise_for_status()
    header = header_of(collector.request(other))
    assert [received_header(http, url), received_header(http, url)] == [header, header]


def test_a_trace_begins_here(postgres: TestServer) -> None:
    """The sampling rate is 1, and the request has no trace header. The service does not record health probes. The
    service sends the remaining spans before it ends.
    """
    with running_collector() as collector:
        settings = {"OTLP_SAMPLE_RATE": "1"}
        with traced_service(postgres, collector, **settings) as service, service.http() as http:
            http.get("/livez").raise_for_status()
            url = create_queue(http, "roots")
            call(http, "SendMessage", QueueUrl=url, MessageBody="x")
            assert service.stop() == 0
        requests = [span for span in collector.spans if span.kind == Span.SPAN_KIND_SERVER]
        assert [span.name for span in requests] == ["CreateQueue", "send roots"]
        assert not any(span.parent_span_id for span in requests)
        assert len({span.trace_id for span in requests}) == 2


@pytest.mark.parametrize("outcome", ["sent", "refused", "undecodable", "unrecorded"])
def test_both_ways_of_a_request_make_the_same_span(
    service: Service, http: httpx.Client, collector: Collector, outcome: str
) -> None:
    """The fast path handles a request that arrives in one write, and ASGI handles a request that arrives in two
    writes.
    """
    url = create_queue(http, f"both-{outcome}")
    members = {"QueueUrl": url, "MessageBody": "" if outcome == "refused" else "hello"}
    body = b"{" if outcome == "undecodable" else json.dumps(members).encode()
    spans: list[Span] = []
    for is_whole in (True, False):
        trace, last = new_trace(), new_trace()
        status = post(service, body, traceparent(trace, "00" if outcome == "unrecorded" else "01"), is_whole)
        assert status == (200 if outcome in ("sent", "unrecorded") else 400)
        if outcome == "unrecorded":
            assert received_header(http, url) == f"Root=1-{trace[:8]}-{trace[8:]};Parent={PARENT};Sampled=0"
        send(http, create_queue(http, "last"), last)
        collector.request(last)
        spans += [span for span in collector.spans if span.trace_id.hex() == trace]
    assert [span.name for span in spans if span.kind == Span.SPAN_KIND_SERVER] == {
        "sent": [f"send both-{outcome}"] * 2,
        "refused": [f"send both-{outcome}"] * 2,
        "undecodable": ["SendMessage"] * 2,
        "unrecorded": [],
    }[outcome]
    half = len(spans) // 2
    assert [describe(span) for span in spans[:half]] == [describe(span) for span in spans[half:]]


def test_a_pipelined_request_is_not_in_the_trace_of_the_one_before(
    service: Service, http: httpx.Client, collector: Collector
) -> None:
    """The second request has no trace header, and begins after the response to the first request."""
    urls = [create_queue(http, "first"), create_queue(http, "second")]
    trace = new_trace()
    requests = [
        write_request(service, json.dumps({"QueueUrl": url, "MessageBody": "x"}).encode(), header)
        for url, header in zip(urls, (traceparent(trace), "-"), strict=True)
    ]
    with connect(service) as connection:
        connection.sendall(b"".join(requests))
        response = b""
        while response.count(b"HTTP/1.1 200") < 2:
            response += connection.recv(65_536)
    span = collector.request(trace)
    assert [received_header(http, url) for url in urls] == [header_of(span), None]


def describe(span: Span) -> tuple[str, str, dict[str, Any]]:
    """Returns a span without the values that are specific to one request."""
    found = attributes(span.attributes)
    alone = ("aws.request_id", "messaging.message.id")
    return span.name, span.parent_span_id.hex() and PARENT, {k: v for k, v in found.items() if k not in alone}


def post(service: Service, body: bytes, header: str, is_whole: bool) -> int:
    """Sends a SendMessage request in one write, or behind another request (for ASGI). Returns the status."""
    request = write_request(service, body, header)
    with connect(service) as connection:
        if not is_whole:
            connection.sendall(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n" + request[: -len(body)])
            connection.recv(65_536)
            request = body
        connection.sendall(request)
        return int(connection.recv(65_536).split()[1])


def write_request(service: Service, body: bytes, header: str) -> bytes:
    """Returns a SendMessage request with the given traceparent."""
    url = httpx.URL(service.url)
    head = (
        f"POST / HTTP/1.1\r\nhost: {url.host}:{url.port}\r\ncontent-type: application/x-amz-json-1.0\r\n"
        f"x-amz-target: AmazonSQS.SendMessage\r\ntraceparent: {header}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def connect(service: Service) -> socket.socket:
    url = httpx.URL(service.url)
    return socket.create_connection((url.host, url.port or 80))
