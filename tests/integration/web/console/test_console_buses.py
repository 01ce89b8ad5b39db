"""Tests the console's pages of event buses, their events and their subscribers with a real service."""

import html
import json
import re
from datetime import UTC, datetime

import httpx
import psycopg
import pytest

from tests.support.wait import wait_until
from tests.support.web.console import Console

pytestmark = pytest.mark.xdist_group("console")
HOSTILE = "<script>alert(1)</script>\"'&{{7*7}}"

BACKDATE = (
    "update queue.event_page set sequenced_at = sequenced_at - interval '2 min'"
    " where bus_id = (select b.bus_id from queue.event_bus b where b.name = %s)"
)


def go(response: httpx.Response) -> str:
    """Returns the page, below /console, to which a form redirects."""
    assert response.status_code == 303, response.text
    return str(response.headers["location"]).removeprefix("/console")


def read(console: Console, path: str) -> str:
    """Returns the text of a page without marks."""
    page = console.page(path)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page.partition("<main")[2])).split())


@pytest.fixture
def bus(console: Console, request: pytest.FixtureRequest) -> str:
    """Creates a bus, and a queue of the same name, that no other test uses."""
    name = re.sub(r"\W", "-", request.node.name)[:70]
    console.queue(name)
    assert go(console.browser.post("/console/buses", name=name, days="7")) == f"/buses/{name}?done=bus"
    return name


def publish(console: Console, bus: str, *events: object) -> None:
    """Publishes events, and waits until the bus has given them places."""
    with console.service.http() as http:
        http.post(f"/v1/buses/{bus}/events", json=list(events)).raise_for_status()
        wait_until(lambda: len(http.get(f"/v1/buses/{bus}/events").json()["events"]) >= len(events))


def test_a_bus_is_created_changed_and_deleted(console: Console, bus: str) -> None:
    assert console.audit("events:CreateEventBus")[5] == "console"
    assert bus in read(console, "/buses")
    page = console.page(f"/buses/{bus}/change")
    version = re.findall(r'name="version" value="([^"]+)"', page)[0]
    form = {"days": "3", "description": HOSTILE, "version": version}
    assert go(console.browser.post(f"/console/buses/{bus}/change", **form)) == f"/buses/{bus}?done=saved"
    shown = read(console, f"/buses/{bus}")
    assert "retention 3 days" in shown
    assert HOSTILE in shown
    late = console.browser.post(f"/console/buses/{bus}/change", **form)
    assert (late.status_code, "Another user has changed the bus" in late.text) == (400, True)
    taken = console.browser.post("/console/buses", name=bus)
    assert (taken.status_code, 'id="problem-name"' in taken.text) == (409, True)
    wrong = console.browser.post("/console/buses", name="other", days="400")
    assert (wrong.status_code, 'id="problem-days"' in wrong.text) == (400, True)
    assert console.browser.post(f"/console/buses/{bus}/delete", typed="x").status_code == 400
    assert go(console.browser.post(f"/console/buses/{bus}/delete", typed=bus)) == "/buses?done=deleted"
    assert console.browser.get(f"/console/buses/{bus}").status_code == 404


def test_the_form_of_a_subscriber_suggests_targets_by_name(console: Console, bus: str) -> None:
    offered = dict(re.findall('<option value="([^"]+)" label="([^"]+)">', console.page(f"/buses/{bus}/subscribe")))
    assert offered[bus] == "queue"
    assert f"event bus {bus}" in offered.values()
    console.browser.post(f"/console/buses/{bus}/delete", typed=bus)


def test_a_bus_shows_its_bindings(console: Console, bus: str) -> None:
    bound = {"bus": bus, "filter_policy": {"kind": ["<b>"]}}
    with console.service.http() as http:
        assert http.get(f"/v1/buses/{bus}").json()["bindings"] == []
        made = http.post("/v1/events/orders.*/subscriptions", json=bound).json()
        assert http.get(f"/v1/buses/{bus}").json()["bindings"] == [made]
        shown = read(console, f"/buses/{bus}")
        assert "1 binding Pattern of routing keys Filter Created orders.*" in shown
        assert "<b>" not in console.page(f"/buses/{bus}").partition("<main")[2]
        http.delete(f"/v1/events/orders.*/subscriptions/{made['id']}").raise_for_status()
        http.delete(f"/v1/buses/{bus}").raise_for_status()


def test_lists_begin_with_the_subscribers_in_trouble(console: Console, bus: str) -> None:
    """The words are those of the overview. The names would put the subscribers in the other order."""
    with console.service.http() as http:
        for name in ("a-good", "z-stopped"):
            wanted = {"name": name, "target": bus, "stopped": name == "z-stopped"}
            http.post(f"/v1/buses/{bus}/subscribers", json=wanted).raise_for_status()
    publish(console, bus, {"data": 1})
    with psycopg.connect(console.database.dsn) as db:
        db.execute(
            "update queue.event_bus set retained_since = retained_since - interval '1 h' where name = %s", (bus,)
        )
        db.execute(
            "update queue.event_page p set sequenced_at = p.sequenced_at - interval '2 minutes' from queue.event_bus b"
            " where b.bus_id = p.bus_id and b.name = %s", (bus,)
        )  # fmt: skip
    with console.service.http() as http:
        http.post("/v1/buses", json={"name": "a-quiet"}).raise_for_status()

    def find_order(path: str, kind: str) -> list[str]:
        return re.findall(rf'scope="row"><a class="name" href="/console/{kind}/([^"]+)"', console.page(path))

    wait_until(lambda: find_order(f"/buses/{bus}", f"buses/{bus}/subscribers") == ["z-stopped", "a-good"])
    found = find_order("/buses", "buses")
    assert found.index(bus) < found.index("a-quiet")
    with console.service.http() as http:  # An account has few buses.
        for path in (f"{bus}/subscribers/a-good", f"{bus}/subscribers/z-stopped", bus, "a-quiet"):
            http.delete(f"/v1/buses/{path}").raise_for_status()


def test_events_are_browsed_without_an_effect(console: Console, bus: str) -> None:
    detail = {"n": 1, "text": HOSTILE}
    publish(
        console, bus, {"source": "shop", "detail_type": "paid", "detail": detail, "group_id": "a"},
        {"data": {"n": 2}, "metadata": {"k": HOSTILE}},
    )  # fmt: skip
    shown = read(console, f"/buses/{bus}/events")
    assert shown.index('{"n":2}') < shown.index('"n":1')
    assert shown.count(HOSTILE) == 1  # the metadata; JSON escapes the quotes of the data
    assert "without an effect on subscribers" in shown
    pattern = json.dumps({"n": [2]})
    found = read(console, f"/buses/{bus}/events?{httpx.QueryParams(pattern=pattern)}")
    assert ('{"n":2}' in found, '"n":1' in found) == (True, False)
    found = read(console, f"/buses/{bus}/events?group=a&order=oldest&from=2026-01-01T00:00")
    assert ('{"n":2}' in found, '"n":1' in found) == (False, True)
    assert "None of the examined events" in read(console, f"/buses/{bus}/events?to=2026-01-01T00:00:00")
    for wrong in ("pattern=[", "from=noon", "after=x"):
        refused = console.browser.get(f"/console/buses/{bus}/events?{wrong}")
        assert (refused.status_code, 'role="alert" id="fault"' in refused.text) == (400, True), wrong


def test_a_subscriber_is_created_stopped_replayed_and_deleted(console: Console, bus: str) -> None:
    publish(console, bus, {"data": {"n": 1}}, {"data": {"n": 2}})
    form = {
        "name": "s", "target": bus, "start": "oldest", "filter": '{"n": [2]}', "attempts": "3", "failure_queue": bus,
        "transformer": "WITH_METADATA", "description": HOSTILE, "tags": "team=shop", "fifo": "1",
    }  # fmt: skip
    path = f"/buses/{bus}/subscribers/s"
    assert go(console.browser.post(f"/console/buses/{bus}/subscribe", **form)) == f"{path}?done=subscriber"
    url = console.queue(bus)
    wait_until(lambda: console.count(url) == 1)
    shown = read(console, path)
    for text in (HOSTILE, "WITH_METADATA", "3 attempts, within 5 min", '"n": [ 2 ]', "running", "lag 0 events"):
        assert text in shown, text
    assert "s running FIFO" in read(console, f"/buses/{bus}")
    assert go(console.browser.post(f"/console{path}/pause")) == f"{path}?done=paused"
    publish(console, bus, {"data": {"n": 2}})
    assert "Resume without the missed events" in read(console, path)
    assert f"{bus} ok" in read(console, "/buses")
    with psycopg.connect(console.database.dsn) as db:  # The overview lists a stopped subscriber after a minute.
        db.execute(
            "update queue.event_bus set retained_since = retained_since - interval '1 h' where name = %s", (bus,)
        )
        db.execute(BACKDATE, (bus,))
    wait_until(lambda: f"{bus} stopped" in read(console, "/buses"))
    wait_until(lambda: f"{bus}/s" in read(console, ""))
    skipping = {"do": "time", "from": datetime.now(UTC).isoformat()}
    assert "Skip 1 event?" in console.browser.post(f"/console{path}/replay", **skipping).text
    assert go(console.browser.post(f"/console{path}/resume", position="latest")) == f"{path}?done=resumed"
    asked = console.browser.post(f"/console{path}/replay", do="oldest")
    text = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", asked.text)).split())
    assert (asked.status_code, f"Target {bus} queue" in text) == (200, True)
    assert "Deliver 3 events again?" in text
    assert f'href="/console{path}" autofocus>Cancel' in asked.text
    assert (console.count(url), "was moved to" in read(console, path)) == (1, False)  # The question moves nothing.
    assert go(console.browser.post(f"/console{path}/replay", do="oldest", confirmed="yes")) == f"{path}?done=moved"
    wait_until(lambda: console.count(url) == 3)
    wrong = console.browser.post(f"/console{path}/replay", **{"from": "2001-01-01T00:00"})
    assert (wrong.status_code, 'id="problem-from"' in wrong.text) == (400, True)
    like = console.page(f"/buses/{bus}/subscribe?like=s")
    assert 'name="name" value="s-replay"' in like
    assert "&#34;n&#34;" in like
    assert console.browser.post(f"/console{path}/delete", typed="x").status_code == 400
    assert console.browser.post(f"/console/buses/{bus}/delete", typed=bus).status_code == 409
    assert go(console.browser.post(f"/console{path}/delete", typed="s")) == f"/buses/{bus}?done=deleted"


def test_a_subscriber_of_a_missing_queue_drops_events(console: Console, bus: str) -> None:
    """Without a failure queue, events are lost, as severe as a given-up delivery (docs/reference/verdicts.md)."""
    with console.service.http() as http:
        http.post("/v1/queues", json={"name": f"{bus}-gone"}).raise_for_status()
        wanted = {"name": "s", "target": f"{bus}-gone", "configuration": {"RetryPolicy": {"MaxRetryAttempts": 0}}}
        http.post(f"/v1/buses/{bus}/subscribers", json=wanted).raise_for_status()
        http.delete(f"/v1/queues/{bus}-gone").raise_for_status()
        publish(console, bus, {"data": 1}, {"data": 2})
        path = f"/buses/{bus}/subscribers/s"
        wait_until(lambda: http.get(f"/v1{path}").json()["failed"] == 2)
    wait_until(lambda: f"{bus} drops events" in read(console, "/buses"))
    reason = "2 events dropped, no failure queue: RESOURCE_NOT_FOUND: The queue does not exist."
    assert f"{bus}/s" in read(console, "")
    assert reason in read(console, "")
    missing = f"Queue {bus}-gone does not exist"
    dead_link = f'href="/console/queues/{bus}-gone"'
    for shown, texts in (
        (f"/buses/{bus}", ("s drops events", f"{bus}-gone queue, does not exist", "Waiting Retries")),
        (path, ("drops events", reason, f"{missing}: create it, or subscribe another target", "waiting 0")),
    ):
        text = read(console, shown)
        assert [wanted for wanted in texts if wanted not in text] == []
        page = console.page(shown)
        assert ('class="badge bad">drops events' in page, dead_link in page) == (True, False)
    assert f"{missing}, so the deliveries of a replay fail." in read(console, path)
    asked = console.browser.post(f"/console{path}/replay", do="oldest").text
    assert ("so the deliveries of a replay fail" in asked, dead_link in asked) == (True, False)
    with console.service.http() as http:
        http.delete(f"/v1{path}").raise_for_status()
        http.delete(f"/v1/buses/{bus}").raise_for_status()


def test_a_change_replaces_the_filters_and_keeps_the_role(console: Console, bus: str) -> None:
    form = {"name": "s", "target": bus, "filter": '{"n": [2]}', "filter_metadata": '{"k": ["v"]}'}
    console.browser.post(f"/console/buses/{bus}/subscribe", **form)
    path = f"/buses/{bus}/subscribers/s"
    page = console.page(f"{path}/change")
    version = re.findall(r'name="version" value="([^"]+)"', page)[0]
    changed = {"version": version, "filter": '{"n": [3]}', "attempts": "1", "parameters": '{"SqsParameters": {}}'}
    assert go(console.browser.post(f"/console{path}/change", **changed)) == f"{path}?done=saved"
    with console.service.http() as http:
        configuration = http.get(f"/v1{path}").json()["configuration"]
    assert configuration["FilterConfiguration"]["Filters"] == [{"Scope": "DATA", "Pattern": '{"n": [3]}'}]
    assert configuration["InvokeConfiguration"]["RoleArn"] == "arn:aws:iam::000000000000:role/penstock"
    late = console.browser.post(f"/console{path}/change", **changed)
    assert (late.status_code, "Another user has changed" in late.text) == (400, True)


def test_a_universal_target_is_created_and_changed(console: Console, bus: str) -> None:
    def call(text: str) -> str:
        request = json.dumps({"QueueUrl": bus, "MessageBody": text})
        return json.dumps({"UniversalTargetParameters": {"Input": request}})

    target = "arn:aws:events:::aws-sdk:sqs:sendMessage"
    form = {"name": "s", "target": target, "parameters": call("a"), "size": "1", "window": "0", "transformer": "RAW"}
    path = f"/buses/{bus}/subscribers/s"
    assert go(console.browser.post(f"/console/buses/{bus}/subscribe", **form)) == f"{path}?done=subscriber"
    assert target in read(console, path)
    version = re.findall(r'name="version" value="([^"]+)"', console.page(f"{path}/change"))[0]
    changed = {**form, "version": version, "parameters": call("b")}
    assert go(console.browser.post(f"/console{path}/change", **changed)) == f"{path}?done=saved"
    url = console.queue(bus)
    publish(console, bus, {"data": 1})
    wait_until(lambda: console.count(url) == 1)


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("name", "a b", "name"),
        ("target", "arn:aws:kinesis:us-east-1:000000000000:stream/x", "target"),
        ("filter", "{", "filter"),
        ("filter", "{}", "filter"),
        ("filter_metadata", '{"a": []}', "filter_metadata"),
        ("filter_system", "[", "filter_system"),
        ("attempts", "many", "attempts"),
        ("attempts", "186", "attempts"),
        ("age", "1", "age"),
        ("size", "11", "size"),
        ("jsonata", "{% ( %}", "jsonata"),
        ("parameters", '{"LambdaParameters": {}}', "parameters"),
        ("failure_queue", "arn:aws:sns:us-east-1:000000000000:q", "failure_queue"),
        ("target", "no-such-queue", "target"),
        ("failure_queue", "no-such-queue", "failure_queue"),
        ("from", "2001-01-01T00:00", "from"),
    ],
)
def test_a_fault_is_shown_at_its_field(console: Console, field: str, value: str, problem: str) -> None:
    console.queue("q")
    if console.browser.get("/console/buses/faults").status_code == 404:
        console.browser.post("/console/buses", name="faults")
    form = {"name": "s", "target": "q", "start": "time" if field == "from" else "latest", field: value}
    if field == "jsonata":
        form["transformer"] = "JSONATA"
    refused = console.browser.post("/console/buses/faults/subscribe", **form)
    assert refused.status_code == 400
    assert f'id="problem-{problem}"' in refused.text, html.unescape(refused.text)
    assert "has no subscribers" in read(console, "/buses/faults")


def test_tags_are_changed(console: Console, bus: str) -> None:
    """A form without a change of tags keeps a tag that another user has added meanwhile."""
    console.browser.post(f"/console/buses/{bus}/subscribe", name="s", target=bus, tags="team=shop")
    for path in (f"/buses/{bus}", f"/buses/{bus}/subscribers/s"):
        form = {"tags": "team=paid\r\ncost=1", "tags_before": "" if path.endswith(bus) else "team=shop"}
        assert go(console.browser.post(f"/console{path}/change", **form)) == f"{path}?done=saved"
        assert "tag cost 1 tag team paid" in read(console, path)
        page = console.page(f"{path}/change")
        assert page.count("cost=1\nteam=paid") == 2
        with console.service.http() as http:
            http.patch(f"/v1{path}", json={"tags": {"a=b": "c"}}).raise_for_status()
        assert "tags_before" not in console.page(f"{path}/change")
        kept = {"tags": "cost=1\r\nteam=paid", "tags_before": "cost=1\nteam=paid"}
        assert go(console.browser.post(f"/console{path}/change", **kept)) == f"{path}?done=saved"
        assert "tag a=b c" in read(console, path)


def test_an_event_is_published(console: Console, bus: str) -> None:
    path = f"/console/buses/{bus}/publish"
    assert "publish" in console.page(f"/buses/{bus}")
    for form in (
        {"data": '{"n": 1}', "group": "g", "dedup": "d"},
        {"data": '{"n": 2}', "source": "shop", "detail_type": "paid"},
    ):
        assert go(console.browser.post(path, **form)) == f"/buses/{bus}?done=event"
    assert "The event was published." in read(console, f"/buses/{bus}?done=event")
    with console.service.http() as http:
        wait_until(lambda: len(http.get(f"/v1/buses/{bus}/events").json()["events"]) == 2)
        raw, enveloped = http.get(f"/v1/buses/{bus}/events").json()["events"]
    assert (raw["data"], raw["group_id"], raw["deduplication_id"]) == ({"n": 1}, "g", "d")
    assert (enveloped["data"]["detail"], enveloped["source"], enveloped["detail_type"]) == ({"n": 2}, "shop", "paid")
    for form, problem in (
        ({"data": "{"}, "data"),
        ({"data": ""}, "data"),
        ({"data": "1", "source": "shop", "detail_type": "paid"}, "data"),
        ({"data": "{}", "source": "aws.s3", "detail_type": "paid"}, "source"),
        ({"data": "{}", "detail_type": "paid"}, "source"),
        ({"data": "1", "group": "x" * 129}, "group"),
        ({"data": "1", "dedup": "x" * 129}, "dedup"),
    ):
        refused = console.browser.post(path, **form)
        assert (refused.status_code, f'id="problem-{problem}"' in refused.text) == (400, True), form
