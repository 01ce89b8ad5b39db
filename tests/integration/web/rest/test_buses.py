"""Tests /v1/buses on a real service with buses and subscribers that boto3 created."""

import base64
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyarrow import parquet

from penstock_web.cli import main
from tests.support.programs.penstock_service import Service
from tests.support.wait import wait_until
from tests.support.web.http_connection import error_code

pytestmark = [pytest.mark.shared, pytest.mark.settings(QUOTA_EVENT_BUSES="50")]
ROLE = "arn:aws:iam::000000000000:role/bus"


class Bus:
    """A bus, and a subscriber `s` whose target is a queue."""

    def __init__(self, service: Service, http: httpx.Client, name: str, **subscriber: Any) -> None:
        self.http, self.name, self.client = http, name, service.client("eventbridgev2")
        self.arn = self.client.create_event_bus(Name=name)["EventBusArn"]
        self.queue = f"of-{name}"
        http.post("/v1/queues", json={"name": self.queue}).raise_for_status()
        invoke = {"TargetArn": f"arn:aws:sqs:us-east-1:000000000000:{self.queue}", "RoleArn": ROLE}
        given = {"Name": "s", "EventBusArn": self.arn, "InvokeConfiguration": invoke, **subscriber}
        self.subscriber_arn = self.client.create_subscriber(**given)["SubscriberArn"]

    def publish(self, *events: Any) -> list[dict[str, Any]]:
        answer = self.http.post(f"/v1/buses/{self.name}/events", json=list(events))
        assert answer.status_code == 201, answer.text
        published: list[dict[str, Any]] = answer.json()["events"]
        return published

    def browse(self, **parameters: Any) -> dict[str, Any]:
        shown: dict[str, Any] = self.http.get(f"/v1/buses/{self.name}/events", params=parameters).json()
        return shown

    def act(self, act: str, **body: object) -> Any:
        answer = self.http.post(f"/v1/buses/{self.name}/subscribers/s/{act}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def subscriber(self) -> dict[str, Any]:
        shown: dict[str, Any] = self.http.get(f"/v1/buses/{self.name}/subscribers/s").json()
        return shown

    def take(self, number: int) -> list[Any]:
        """Waits until the queue has returned this number of messages, and deletes them."""
        found: list[Any] = []

        def is_complete() -> bool:
            messages = self.http.get(f"/v1/queues/{self.queue}/messages", params={"max": 10, "wait": 1}).json()
            if messages:
                ids = [message["id"] for message in messages]
                self.http.request("DELETE", f"/v1/queues/{self.queue}/messages", json={"ids": ids})
            found.extend(message["message"] for message in messages)
            return len(found) >= number

        wait_until(is_complete)
        return sorted(found, key=json.dumps)


def test_a_bus_and_its_subscriber_show_what_happened(service: Service, http: httpx.Client) -> None:
    bus = Bus(service, http, "orders")
    bus.publish({"data": {"n": 1}}, {"source": "shop", "detail_type": "order", "detail": {"n": 2}})
    bus.take(2)
    wait_until(lambda: bus.subscriber()["delivered"] == 2)
    shown = http.get("/v1/buses/orders").json()
    assert (shown["arn"], shown["retention_days"], shown["subscribers"]) == (bus.arn, 1, 1)
    assert (shown["published"], shown["events"]) == (2, 2)
    assert shown["bytes"] == sum(event["size_bytes"] for event in bus.browse()["events"])
    assert shown.pop("bindings") == []  # Only the description of one bus has bindings.
    assert shown in http.get("/v1/buses").json()["buses"]
    subscriber = bus.subscriber()
    assert http.get("/v1/buses/orders/subscribers").json() == {"subscribers": [subscriber]}
    assert (subscriber["state"], subscriber["lag_events"], subscriber["lag_seconds"]) == ("running", 0, 0)
    assert subscriber["read_until"] == shown["newest_event_at"]
    assert subscriber["last_failure"] is None
    first = http.get("/v1/buses", params={"limit": 1}).json()
    assert (len(first["buses"]), "next" in first) == (1, len(http.get("/v1/buses").json()["buses"]) > 1)


def test_a_stopped_subscriber_lags_until_it_resumes(service: Service, http: httpx.Client) -> None:
    bus = Bus(service, http, "stopped")
    assert bus.act("pause")["state"] == "stopped"
    assert bus.act("pause")["state"] == "stopped"
    bus.publish({"data": 1}, {"data": 2})
    wait_until(lambda: bus.subscriber()["lag_events"] == 2)
    assert bus.act("resume")["state"] == "running"
    assert sorted(bus.take(2)) == [1, 2]
    bus.act("pause")
    bus.publish({"data": 3})
    bus.act("resume", position="latest")
    bus.publish({"data": 4})
    assert bus.take(1) == [4]
    skipping = http.post("/v1/buses/stopped/subscribers/s/resume", json={"position": "latest"})
    assert error_code(skipping) == (400, "bad_request")


def test_a_replay_delivers_the_events_since_a_time_again(service: Service, http: httpx.Client) -> None:
    bus = Bus(service, http, "replayed", Transformer={"Type": "WITH_METADATA"}, Type="FIFO")
    bus.publish({"data": 1, "group_id": "g"})
    bus.publish({"data": 2, "group_id": "g"})
    bus.publish({"data": 3, "group_id": "g"})
    assert [each["Data"] for each in bus.take(3)] == [1, 2, 3]
    second = bus.browse()["events"][1]["published_at"]
    moved = bus.act("replay", **{"from": second})
    assert moved["moved_to"] == second
    again = bus.take(2)
    assert [(each["Data"], each["SystemMetadata"]["aws:DeliveryType"]) for each in again] == [
        (2, "REPLAY"),
        (3, "REPLAY"),
    ]
    bus.publish({"data": 4, "group_id": "g"})
    (live,) = bus.take(1)
    assert (live["Data"], live["SystemMetadata"]["aws:DeliveryType"]) == (4, "LIVE")
    bus.act("replay", **{"from": "oldest"})
    assert [each["Data"] for each in bus.take(4)] == [1, 2, 3, 4]
    for wrong in ("2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "yesterday"):
        answer = http.post("/v1/buses/replayed/subscribers/s/replay", json={"from": wrong})
        assert error_code(answer) == (400, "bad_request")
    bus.client.revoke_resource(Arn=bus.subscriber_arn)
    answer = http.post("/v1/buses/replayed/subscribers/s/replay", json={"from": "oldest"})
    assert error_code(answer) == (409, "subscriber_revoked")


def test_a_refused_event_is_the_last_failure(service: Service, http: httpx.Client) -> None:
    bus = Bus(service, http, "failing", RetryPolicy={"MaxRetryAttempts": 0})
    http.delete(f"/v1/queues/{bus.queue}").raise_for_status()
    bus.publish({"data": 1})
    wait_until(lambda: bus.subscriber()["failed"] == 1)
    subscriber = bus.subscriber()
    assert (subscriber["delivered"], subscriber["refused"], subscriber["waiting"]) == (0, 1, 0)
    assert subscriber["last_failure"]["code"] == "RESOURCE_NOT_FOUND"


def test_events_are_browsed_by_time_group_and_pattern(service: Service, http: httpx.Client) -> None:
    bus = Bus(service, http, "browsed")
    sent = bus.publish(
        {"data": {"n": 0}, "group_id": "a", "metadata": {"k": "v"}},
        *({"source": f"shop{n % 2}", "detail_type": "order", "detail": {"n": n}, "group_id": "b"} for n in range(1, 5)),
    )
    binary = {"Data": b"\xff", "SystemMetadata": {"ContentType": "application/octet-stream"}}
    bus.client.put_raw_events(EventBusArn=bus.arn, Entries=[binary])
    wait_until(lambda: len(bus.browse()["events"]) == 6)
    events = bus.browse()["events"]
    assert [event["id"] for event in events[:5]] == [event["id"] for event in sent]
    assert [event["sequence_number"] for event in events[:5]] == [event["sequence_number"] for event in sent]
    assert (events[0]["data"], events[0]["metadata"], events[0]["group_id"]) == ({"n": 0}, {"k": "v"}, "a")
    assert (events[1]["data"]["detail"], events[1]["source"]) == ({"n": 1}, "shop1")
    assert base64.b64decode(events[5]["data"]) == b"\xff"
    assert bus.browse(order="newest")["events"] == events[::-1]

    def numbers(**parameters: Any) -> list[int]:
        return [event["data"]["detail"]["n"] for event in bus.browse(**parameters)["events"]]

    assert numbers(group="b", source="shop0") == [2, 4]
    assert numbers(pattern=json.dumps({"detail": {"n": [{"numeric": [">", 2]}]}})) == [3, 4]
    assert numbers(detail_type="order", limit=3, order="newest") == [4, 3, 2]
    last = events[5]["published_at"]
    assert bus.browse(**{"from": "2999-01-01T00:00:00Z"}) == bus.browse(to="2001-01-01T00:00:00Z") == {"events": []}
    assert bus.browse(to=last, order="newest", limit=6)["events"][-1] == events[0]
    for order in ("oldest", "newest"):
        found, token = [], None
        while page := bus.browse(order=order, limit=2, **({"next": token} if token else {})):
            found += page["events"]
            token = page.get("next")
            if token is None:
                break
        assert sorted(event["id"] for event in found) == sorted(event["id"] for event in events)
    bus.take(5)  # browsing has no effect on the delivery
    for name, value in (("from", "x"), ("next", "x"), ("pattern", "{}"), ("pattern", "["), ("order", "x")):
        answer = http.get("/v1/buses/browsed/events", params={name: value})
        assert error_code(answer) == (400, "bad_request")


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"data": 1, "source": "a"},
        {"source": "a", "detail": {}},
        {"source": "aws.s3", "detail_type": "b", "detail": {}},
        {"source": "a", "detail_type": "b", "detail": [1]},
        {"source": "a", "detail_type": "b", "time": "noon"},
        {"data": 1, "metadata": {"A": "x", "a": "y"}},
        {"data": 1, "group_id": "x" * 129},
        {"data": 1, "group_id": "a\0"},
        {"data": "x" * 1_048_577},
    ],
)
def test_one_invalid_event_refuses_all(service: Service, http: httpx.Client, event: Any) -> None:
    """The limits are those of botocore's model, and of "Publishing events" (EventBridge User Guide)."""
    name = "refusing"
    if http.get(f"/v1/buses/{name}").status_code == 404:
        service.client("eventbridgev2").create_event_bus(Name=name)
    before = http.get(f"/v1/buses/{name}/events").json()
    for body in (event, [{"data": 1}, event]):
        assert http.post(f"/v1/buses/{name}/events", json=body).status_code == 400
    assert http.post(f"/v1/buses/{name}/events", json=[]).status_code == 400
    assert http.get(f"/v1/buses/{name}/events").json() == before == {"events": []}


def test_the_commands_read_and_move(
    service: Service, http: httpx.Client, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bus = Bus(service, http, "by-command")
    monkeypatch.setenv("PENSTOCK_ENDPOINT", service.url)

    def said(*arguments: str) -> str:
        assert main(arguments) == 0
        return capsys.readouterr().out

    said("buses", "publish", "by-command", '{"n": 1}', "--source", "shop", "--detail-type", "order")
    (event,) = bus.take(1)
    assert (event["source"], event["detail"]) == ("shop", {"n": 1})
    (shown,) = (json.loads(line) for line in said("buses", "events", "by-command", "--json").splitlines())
    assert shown["data"] == event
    assert said("subscribers", "pause", "by-command", "s") == "paused s\n"
    assert "stopped" in said("subscribers", "show", "by-command", "s")
    assert said("subscribers", "resume", "by-command", "s") == "resumed s\n"
    assert "s continues at" in said("replay", "by-command", "s", "--from", "oldest")
    assert bus.take(1) == [event]
    assert said("subscribers", "list", "by-command").splitlines()[1].split()[:3] == ["s", "running", "UNORDERED"]
    assert "by-command" in said("buses", "list")
    assert main(["subscribers", "show", "by-command", "none"]) == 1
    assert "penstock subscribers list BUS" in capsys.readouterr().err


def test_events_are_exported_to_parquet(service: Service, http: httpx.Client, tmp_path: Path) -> None:
    bus = Bus(service, http, "exported")
    sent = bus.publish({"data": {"n": 1.50}, "group_id": "g", "metadata": {"k": "v"}}, {"data": "x"})
    binary = {"Data": b"\xff", "SystemMetadata": {"ContentType": "application/octet-stream"}}
    bus.client.put_raw_events(EventBusArn=bus.arn, Entries=[binary])
    wait_until(lambda: len(bus.browse()["events"]) == 3)
    file = tmp_path / "events.parquet"
    assert main(["buses", "export", "exported", "--output", str(file), "--endpoint", service.url]) == 0
    rows = parquet.read_table(file).to_pylist()
    assert [row["id"] for row in rows][:2] == [event["id"] for event in sent]
    assert (rows[0]["group_id"], rows[0]["metadata"], rows[1]["group_id"]) == ("g", [("k", "v")], None)
    assert [row["data"] for row in rows][1:] == [b'"x"', b"\xff"]
    assert json.loads(rows[0]["data"]) == {"n": 1.5}
    assert [path.name for path in tmp_path.iterdir()] == ["events.parquet"]


def test_a_bus_and_a_subscriber_are_created_changed_and_deleted(service: Service, http: httpx.Client) -> None:
    """The limits and the defaults are those of CreateEventBus and CreateSubscriber (botocore's model)."""
    made = http.post("/v1/buses", json={"name": "made", "retention_days": 7, "tags": {"team": "shop"}})
    assert (made.status_code, made.headers["location"]) == (201, "/v1/buses/made")
    client = service.client("eventbridgev2")
    found = client.describe_event_bus(EventBusArn=made.json()["arn"])
    assert found["StorageConfiguration"]["RetentionPeriodInDays"] == 7
    assert error_code(http.post("/v1/buses", json={"name": "made"})) == (409, "name_exists")
    changed = http.patch("/v1/buses/made", json={"description": "orders"}).json()
    assert (changed["description"], changed["retention_days"], changed["tags"]) == ("orders", 7, {"team": "shop"})
    changed = http.patch("/v1/buses/made", json={"tags": {"team": "paid", "cost": "1"}}).json()
    assert (changed["description"], changed["tags"]) == ("orders", {"team": "paid", "cost": "1"})
    assert http.patch("/v1/buses/made", json={"tags": {"cost": "1"}}).json()["tags"] == {"cost": "1"}
    for wrong in ({"aws:x": "1"}, {"": "1"}, {"k": "v" * 257}, {f"k{n}": "" for n in range(201)}):
        assert error_code(http.patch("/v1/buses/made", json={"tags": wrong, "description": "x"}))[0] == 400
    assert http.get("/v1/buses/made").json()["tags"] == {"cost": "1"}
    assert http.get("/v1/buses/made").json()["description"] == "orders"
    http.post("/v1/queues", json={"name": "of-made"}).raise_for_status()
    subscriber = {
        "name": "s",
        "target": "of-made",
        "from": "oldest",
        "filters": {"DATA": {"n": [1]}},
        "configuration": {"RetryPolicy": {"MaxRetryAttempts": 3}},
    }
    made = http.post("/v1/buses/made/subscribers", json=subscriber)
    assert (made.status_code, made.headers["location"]) == (201, "/v1/buses/made/subscribers/s")
    stored = client.describe_subscriber(SubscriberArn=made.json()["arn"])
    assert stored["InvokeConfiguration"]["TargetArn"] == "arn:aws:sqs:us-east-1:000000000000:of-made"
    assert (stored["Type"], stored["State"], stored["StartingPosition"]) == ("UNORDERED", "RUNNING", "POINT_IN_TIME")
    assert stored["RetryPolicy"] == {
        "MaxRetryAttempts": 3,
        "MaxEventAgeInSeconds": 300,
        "RetryStrategy": "ALL",
    }
    path = "/v1/buses/made/subscribers/s"
    patch = {"filters": {}, "configuration": {"Transformer": {"Type": "WITH_METADATA"}}}
    configuration = http.patch(path, json=patch).json()["configuration"]
    assert "FilterConfiguration" not in configuration
    assert configuration["Transformer"] == {"Type": "WITH_METADATA"}
    assert configuration["RetryPolicy"]["MaxRetryAttempts"] == 3
    tagged = http.patch(path, json={"tags": {"team": "shop"}}).json()
    assert (tagged["tags"], tagged["configuration"]) == ({"team": "shop"}, configuration)
    assert http.patch(path, json={"tags": {}}).json()["tags"] == {}
    assert error_code(http.delete("/v1/buses/made")) == (409, "bus_in_use")
    assert http.delete(path).status_code == 204
    assert http.delete("/v1/buses/made").status_code == 204
    assert error_code(http.get("/v1/buses/made")) == (404, "bus_not_found")


def test_a_bus_keeps_routed_events(service: Service, http: httpx.Client) -> None:
    """A bound bus stores the events of a pattern in the publisher's transaction, until its deletion."""
    bus = Bus(service, http, "keeping", Type="FIFO", Transformer={"Type": "WITH_METADATA"})
    binding = {"bus": "keeping", "filter_policy": {"total": [{"numeric": [">", 5]}]}}
    made = http.post("/v1/events/kept.#/subscriptions".replace("#", "%23"), json=binding)
    assert (made.status_code, made.json()["protocol"], made.json()["bus"]) == (201, "bus", "keeping")
    (matched,) = http.get("/v1/events/kept.paid/matches").json()["subscriptions"]
    assert (matched["bus"], "endpoint" in matched, "queue_name" in matched) == ("keeping", False, False)
    headers = {"region": "eu", "count": 2, "Routing_Key": "x", "x" * 129: "y"}
    for total in (9, 1):
        event = {"message": {"total": total}, "headers": headers}
        reached = http.post("/v1/events/kept.paid", json=event)
        assert (reached.json()["queues_matched"], reached.json()["webhooks_matched"]) == (0, 0)
    operations = [{"routing_key": "kept.late", "message": {"total": 7}}]
    http.post("/v1/transactions", json={"publish": operations}).raise_for_status()
    first, second = bus.take(2)
    assert (first["Data"], second["Data"]) == ({"total": 7}, {"total": 9})
    assert second["Metadata"] == {"routing_key": "kept.paid", "region": "eu", "count": "2"}
    shown = bus.browse()["events"]
    assert [(event["group_id"], event["content_type"]) for event in shown] == [
        ("kept.paid", "application/json"),
        ("kept.late", "application/json"),
    ]
    bus.client.delete_subscriber(SubscriberArn=bus.subscriber_arn)
    http.delete("/v1/buses/keeping").raise_for_status()
    assert http.get("/v1/events/kept.paid/matches").json()["subscriptions"] == []
    assert error_code(http.post("/v1/events/kept/subscriptions", json={"bus": "none"})) == (404, "bus_not_found")
    for wrong in ({}, {"bus": "a", "queue_name": "b"}):
        assert error_code(http.post("/v1/events/kept/subscriptions", json=wrong)) == (400, "bad_request")


@pytest.mark.parametrize("ending", ["", ".fifo"])
def test_a_bus_keeps_the_messages_of_a_topic(service: Service, http: httpx.Client, ending: str) -> None:
    bus = Bus(service, http, f"of-topic{len(ending)}", Transformer={"Type": "WITH_METADATA"})
    sns = service.client("sns")
    attributes = {"PenstockBus": bus.name, **({"FifoTopic": "true"} if ending else {})}
    topic = sns.create_topic(Name=f"kept{ending}", Attributes=attributes)["TopicArn"]
    assert sns.get_topic_attributes(TopicArn=topic)["Attributes"]["PenstockBus"] == bus.name
    headers = {
        "region": {"DataType": "String", "StringValue": "eu"},
        "bytes": {"DataType": "Binary", "BinaryValue": b"x"},
    }
    more = {"MessageGroupId": "g", "MessageDeduplicationId": "1"} if ending else {}
    sent = sns.publish(TopicArn=topic, Message='{"n": 1}', Subject="hello", MessageAttributes=headers, **more)
    if ending:
        sns.publish(TopicArn=topic, Message="again", **more)  # a duplicate
    event, *others = bus.take(1)
    assert others == []
    assert (event["Data"], event["Metadata"]) == (
        {"n": 1},
        {"topic": f"kept{ending}", "subject": "hello", "region": "eu"},
    )
    (shown,) = bus.browse()["events"]
    assert (shown["id"], shown.get("group_id")) == (sent["MessageId"], "g" if ending else None)
    sns.publish(TopicArn=topic, Message="no JSON", **{**more, **({"MessageDeduplicationId": "2"} if ending else {})})
    wait_until(lambda: len(bus.browse()["events"]) == 2)
    last = bus.browse(order="newest")["events"][0]
    assert (last["content_type"], base64.b64decode(last["data"])) == ("application/octet-stream", b"no JSON")
    for value in ("none", "a/b"):
        with pytest.raises(sns.exceptions.InvalidParameterException):
            sns.set_topic_attributes(TopicArn=topic, AttributeName="PenstockBus", AttributeValue=value)
    sns.set_topic_attributes(TopicArn=topic, AttributeName="PenstockBus", AttributeValue="")
    sns.publish(TopicArn=topic, Message="3", **{**more, **({"MessageDeduplicationId": "3"} if ending else {})})
    assert len(bus.browse()["events"]) == 2


@pytest.mark.parametrize(
    "more",
    [
        {"target": "arn:aws:kinesis:us-east-1:000000000000:stream/x"},
        {"to": "2999-01-01T00:00:00Z"},
        {"from": "yesterday"},
        {"from": "2001-01-01T00:00:00Z"},
        {"filters": {"DATA": {}}},
        {"configuration": {"RetryPolicy": {"MaxRetryAttempts": 186}}},
        {"configuration": {"TargetArn": "x"}},
        {"name": "a b"},
    ],
)
def test_a_subscriber_that_aws_refuses_is_refused(service: Service, http: httpx.Client, more: dict[str, Any]) -> None:
    if http.get("/v1/buses/strict").status_code == 404:
        http.post("/v1/buses", json={"name": "strict"}).raise_for_status()
    refused = http.post("/v1/buses/strict/subscribers", json={"name": "s", "target": "q", **more})
    assert error_code(refused) == (400, "bad_request")
    assert http.get("/v1/buses/strict/subscribers").json() == {"subscribers": []}


def test_the_commands_create_and_delete(
    service: Service, http: httpx.Client, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_ENDPOINT", service.url)
    filters = '{"DATA": {"n": [1]}}'
    for command, text in (
        (["buses", "create", "typed", "--retention-days", "3"], "created typed"),
        (["buses", "change", "typed", "--description", "d", "--tags", '{"team": "shop"}'], "changed typed"),
        (["subscribers", "create", "typed", "s", "q", "--fifo", "--stopped", "--filters", filters], "created s"),
        (["subscribers", "change", "typed", "s", "--filters", "{}", "--tags", '{"team": "paid"}'], "changed s"),
        (["subscribers", "delete", "typed", "s", "--yes"], "deleted s"),
        (["buses", "delete", "typed", "--yes"], "deleted typed"),
    ):
        assert main(command) == 0, capsys.readouterr().err
        assert capsys.readouterr().out == f"{text}\n"
    assert http.get("/v1/buses/typed").status_code == 404


def test_a_name_that_does_not_exist(http: httpx.Client) -> None:
    for path in ("", "/subscribers", "/events"):
        assert error_code(http.get(f"/v1/buses/none{path}")) == (404, "bus_not_found")
