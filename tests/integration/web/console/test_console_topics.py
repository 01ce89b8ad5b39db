"""Tests the console's forms of topics, subscriptions and mappings with a real service."""

import html
import json
import re

import httpx
import markupsafe
import psycopg
import pytest

from tests.support.wait import wait_until
from tests.support.web.console import Console, ConsoleClient

pytestmark = pytest.mark.xdist_group("console")

HOSTILE = "<script>alert(1)</script>\"'&{{7*7}}`|"
ACCOUNT = "000000000000"
TOPICS = f"arn:aws:sns:us-east-1:{ACCOUNT}:"
QUEUES = f"arn:aws:sqs:us-east-1:{ACCOUNT}:"


def go(response: httpx.Response) -> str:
    """Returns the page, below /console, to which a form redirects."""
    assert response.status_code == 303, text_of(response)
    return str(response.headers["location"]).removeprefix("/console")


def text_of(response: httpx.Response) -> str:
    """Returns the page's text without marks, so that a test can compare it with an error."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", response.text.partition("<main")[2])).split())


def subscribe(browser: ConsoleClient, topic: str, **form: object) -> httpx.Response:
    return browser.post(f"/console/topics/{topic}/subscribe", None, **form)


@pytest.fixture
def topic(console: Console, request: pytest.FixtureRequest) -> str:
    """Creates a topic and a queue that no other test uses, both of the same name."""
    name = re.sub(r"\W", "-", request.node.name)[:70]
    console.queue(name)
    assert console.browser.post("/console/topics", name=name).status_code == 303
    return name


# --- topics ----------------------------------------------------------------------------------------------------------
def test_a_topic_is_created_and_deleted(console: Console) -> None:
    form = {
        "name": "bought", "fifo": "1", "content": "true", "throughput": "MessageGroup", "display_name": HOSTILE,
        "tags": "team = orders\r\n\r\nempty",
    }  # fmt: skip
    assert go(console.browser.post("/console/topics", **form)) == "/topics/bought.fifo?done=topic"
    assert console.audit("sns:CreateTopic")[2:6] == (
        f"{TOPICS}bought.fifo",
        {"attributes": {
            "FifoTopic": "true", "DisplayName": HOSTILE, "FifoThroughputScope": "MessageGroup",
            "ContentBasedDeduplication": "true",
        }},
        1,
        "console",
    )  # fmt: skip
    page = console.page("/topics/bought.fifo?done=topic")
    assert "The topic exists." in page
    assert "<script>alert" not in page
    assert "<dt>tag team</dt><dd>orders</dd>" in page
    refused = console.browser.post("/console/topics/bought.fifo/delete", typed="bought")
    assert (refused.status_code, "has not deleted the topic" in refused.text) == (400, True)
    assert go(console.browser.post("/console/topics/bought.fifo/delete", typed="bought.fifo")) == "/topics?done=deleted"
    assert console.audit("sns:DeleteTopic")[2] == f"{TOPICS}bought.fifo"
    assert console.browser.get("/console/topics/bought.fifo").status_code == 404


def test_the_list_of_topics_begins_with_failing_endpoints(console: Console) -> None:
    """The words are those of the overview. By their names, the topics would have the other order."""
    with psycopg.connect(console.database.dsn) as db:
        for name in ("a-works", "m-fails", "z-lost"):
            assert console.browser.post("/console/topics", name=name).status_code == 303
            db.execute(
                "insert into queue.subscription (subscription_id, topic_id, arn, owner, protocol, endpoint, attributes,"
                " confirmed) select gen_random_uuid(), t.topic_id, t.arn || ':1', t.account_id, 'https',"
                " 'https://' || t.name || '.test/?key=1', '{}', true from queue.topic t where t.name = %s", (name,)
            )  # fmt: skip
        db.execute(
            "insert into queue.outgoing_delivery (notice_id, account_id, endpoint, raw, state, due_at, last_error)"
            " select -1, %s, 'https://z-lost.test/?key=1', true, 'exhausted', clock_timestamp(), '503'",
            (ACCOUNT,),
        )
        db.execute(
            "insert into queue.delivery_endpoint (endpoint_key, account_id, host, next_at, paused_until, paused_at)"
            " select e, %s, e, now() + interval '1 h', now() + interval '1 h', now()"
            " from (select %s || ' https://m-fails.test/?key=1') e(e)",
            (ACCOUNT, ACCOUNT),
        )
        db.commit()
        wait_until(lambda: "given up" in console.page("/topics"))
        row = r'class="name"[^>]*>(z-lost|m-fails|a-works)</a>.*?<span class="badge (\w*)">(.*?)</span>'
        assert re.findall(row, console.page("/topics"), re.DOTALL) == [
            ("z-lost", "bad", "given up"), ("m-fails", "warn", "fails"), ("a-works", "good", "ok"),
        ]  # fmt: skip
        db.execute("delete from queue.outgoing_delivery where endpoint like '%z-lost%'")
        db.execute("delete from queue.delivery_endpoint where endpoint_key like '%m-fails%'")
        db.execute("delete from queue.topic where name in ('a-works', 'm-fails', 'z-lost')")


@pytest.mark.parametrize(
    ("form", "field"),
    [({"name": HOSTILE}, "name"), ({"name": ""}, "name"), ({"name": "a" * 257}, "name"), ({"name": "a\0"}, "name"),
     ({"name": "t", "policy": "{"}, "policy"), ({"name": "t", "size": "12"}, "size"),
     ({"name": "t", "content": "true"}, "fifo"), ({"name": "t", "tags": "aws:x=1"}, "tags"),
     ({"name": "t", "display_name": "x" * 101}, "display_name")],
)  # fmt: skip
def test_a_fault_of_a_new_topic_is_shown_at_its_field(console: Console, form: dict[str, str], field: str) -> None:
    response = console.browser.post("/console/topics", **form)
    assert response.status_code == 400
    assert f'id="problem-{field}"' in response.text
    assert "<script>alert" not in response.text
    rule = "A topic's name has 1 to 256 letters, digits, hyphens and underscores."  # CreateTopic, API reference
    assert (rule in text_of(response)) is (field == "name")
    kept = next(text for name, text in form.items() if name != "name" or len(form) == 1)
    assert str(markupsafe.escape(kept)) in response.text
    assert console.browser.get("/console/topics/t").status_code == 404


# --- subscriptions ---------------------------------------------------------------------------------------------------
def test_a_subscription_is_created_changed_and_ended(console: Console, topic: str) -> None:
    console.queue(f"{topic}-dead")
    offered = (
        console.page(f"/topics/{topic}/subscribe").partition('<datalist id="queues">')[2].partition("</datalist>")[0]
    )
    assert 1 <= offered.count("<option value=") <= 100
    form = {
        "protocol": "sqs", "endpoint": topic, "filter": '{"kind":\r\n ["order"]}', "scope": "MessageBody", "raw": "1",
        "dead_letters": f"{topic}-dead",
    }  # fmt: skip
    path = go(subscribe(console.browser, topic, **form))
    assert console.audit("sns:Subscribe")[2:6] == (
        f"{TOPICS}{topic}",
        {"protocol": "sqs", "endpoint": f"{QUEUES}{topic}", "attributes": {
            "FilterPolicy": '{"kind":\n ["order"]}', "FilterPolicyScope": "MessageBody", "RawMessageDelivery": "true",
            "RedrivePolicy": json.dumps({"deadLetterTargetArn": f"{QUEUES}{topic}-dead"}).replace(" ", ""),
        }},
        1,
        "console",
    )  # fmt: skip
    page = console.page(path)
    assert "The endpoint is subscribed." in page
    assert f'value="{topic}-dead"' in page
    version = page.partition('name="version" value="')[2].partition('"')[0]
    path = path.partition("?")[0]
    changed = {"filter": '{"kind": ["refund"]}', "scope": "MessageAttributes", "version": version}
    assert go(console.browser.post(f"/console{path}", **changed)) == f"{path}?done=saved"
    assert console.audit("sns:SetSubscriptionAttributes")[6] == {
        "FilterPolicy": ['{"kind":\n ["order"]}', '{"kind": ["refund"]}'],
        "FilterPolicyScope": ["MessageBody", "MessageAttributes"],
        "RawMessageDelivery": ["true", "false"],
        "RedrivePolicy": [f'{{"deadLetterTargetArn":"{QUEUES}{topic}-dead"}}', None],
    }
    late = console.browser.post(f"/console{path}", **changed | {"filter": ""})
    assert (late.status_code, "Another user has changed" in late.text) == (400, True)
    same = console.browser.post(f"/console{path}", **changed | {"version": ""})
    assert (same.status_code, "already has these settings" in same.text) == (400, True)
    assert f"{path}/delete" in console.page(path)
    assert go(console.browser.post(f"/console{path}/delete")) == f"/topics/{topic}?done=unsubscribed"
    assert console.audit("sns:Unsubscribe")[2] == f"{TOPICS}{topic}:{path.rpartition('/')[2]}"
    assert console.browser.get(f"/console{path}").status_code == 404
    assert console.browser.post(f"/console{path}", **changed).status_code == 404


@pytest.mark.parametrize(
    ("form", "field", "text"),
    [({"filter": '{"key":\n {"suffix": "v"}}', "scope": "MessageBody"}, "filter", "Line 2, column 14"),
     ({"filter": '{"key": [}'}, "filter", "Line 1, column 10"),
     ({"filter": '{"a": {"b": ["c"]}}'}, "filter", "does not support nested"),
     ({"filter": json.dumps({"a": HOSTILE})}, "filter", "must be an object or an array"),
     ({"endpoint": "not-there"}, "endpoint", "there is no queue 'not-there'"),
     ({"endpoint": HOSTILE}, "endpoint", "Endpoint"),
     ({"endpoint": "arn:aws:sqs:us-east-1:1:x"}, "endpoint", "SQS endpoint ARN"),
     ({"endpoint": "x.fifo"}, "endpoint", "there is no queue"),
     ({"protocol": "https", "endpoint": "http://example.com/"}, "endpoint", "must match the specified protocol"),
     ({"protocol": "email", "endpoint": "no address"}, "endpoint", "Email address"),
     ({"protocol": "carrier-pigeon"}, "protocol", "does not support this protocol"),
     ({"protocol": "email", "endpoint": "a@example.com", "raw": "1"}, "raw", "does not support raw"),
     ({"dead_letters": "not-there"}, "dead_letters", "there is no queue"),
     ({"dead_letters": "arn:aws:s3:::x"}, "dead_letters", "invalid arn")],
)  # fmt: skip
def test_a_fault_of_a_subscription_is_shown_at_its_field(
    console: Console, form: dict[str, str], field: str, text: str
) -> None:
    console.queue("faulty")
    console.browser.post("/console/topics", name="faulty")
    response = subscribe(console.browser, "faulty", **{"protocol": "sqs", "endpoint": "faulty", "filter": "", **form})
    assert response.status_code in (400, 404)
    assert text in text_of(response).partition("Nothing was saved.")[2]
    assert f'id="problem-{field}"' in response.text
    assert "<script>alert" not in response.text
    assert "The topic has no subscriptions" in console.page("/topics/faulty")


def test_a_filter_is_tested_before_it_is_saved(console: Console, topic: str) -> None:
    """The test has the result of a publish, and keeps the form."""
    form = {"protocol": "sqs", "endpoint": topic, "filter": '{"n": [{"numeric": [">", 5]}]}', "do": "test"}
    attributes = {"attribute": ["", "n"], "type": ["String", "Number"], "value": ["", "7"]}
    for more, passes in (
        (attributes, True),
        (attributes | {"value": ["", "5"]}, False),
        ({"scope": "MessageBody", "sample": '{"n": 7}'}, True),
        ({"scope": "MessageBody", "sample": "no JSON"}, False),
        ({"filter": ""}, True),
    ):
        response = subscribe(console.browser, topic, **form | more)
        assert response.status_code == 200
        assert ("The message passes." in response.text, "does not pass" in response.text) == (passes, not passes), more
        assert f'name="endpoint" value="{topic}"' in response.text
    assert 'id="problem-filter"' in subscribe(console.browser, topic, **form | {"filter": "{"}).text
    assert "The topic has no subscriptions" in console.page(f"/topics/{topic}")
    path = go(subscribe(console.browser, topic, **form | {"do": ""})).partition("?")[0]
    tested = console.browser.post(f"/console{path}", None, **form | attributes | {"filter": '{"n": [7]}'})
    assert "The message passes." in tested.text
    assert "numeric" in console.page(path)


def test_a_subscription_that_waits_shows_how_to_confirm_it(console: Console, topic: str) -> None:
    url = "https://ann:hunter2@127.0.0.1:1/hook"
    path = go(subscribe(console.browser, topic, protocol="https", endpoint=url)).partition("?")[0]
    page = console.page(path)
    assert "Confirm the subscription" in page
    assert "SubscribeURL" in page
    assert "hunter2" not in page
    assert "hunter2" not in str(console.audit("sns:Subscribe"))
    assert "waits for confirmation" in console.page(f"/topics/{topic}")
    refused = console.browser.post(f"/console{path}/confirm", token="f" * 160)
    assert (refused.status_code, 'id="problem-token"' in refused.text) == (400, True)
    with psycopg.connect(console.database.dsn) as connection:
        (token,) = connection.execute(
            "select token from queue.subscription where arn = %s", (f"{TOPICS}{topic}:{path.rpartition('/')[2]}",)
        ).fetchone() or ("",)
    visit = f"http://127.0.0.1/?Action=ConfirmSubscription&TopicArn=x&Token={token}"
    assert go(console.browser.post(f"/console{path}/confirm", token=visit)) == f"{path}?done=confirmed"
    assert "Confirm the subscription" not in console.page(path)


def test_a_queue_of_another_account_is_named_by_its_arn(console: Console, topic: str) -> None:
    arn = f"arn:aws:sqs:us-east-1:111111111111:{topic}"
    path = go(subscribe(console.browser, topic, protocol="sqs", endpoint=arn, dead_letters=arn)).partition("?")[0]
    page = console.page(path)
    assert f"<h1>{arn}</h1>" in page
    assert f'value="{arn}"' in page
    assert f"/console/queues/{topic}" not in page
    assert arn in console.page(f"/topics/{topic}")


@pytest.mark.parametrize(
    "subscription", ["none", "00000000-0000-4000-8000-000000000000", "%00", "%3Cscript%3E", "a%3Ab"]
)
def test_addresses_of_no_subscription(console: Console, subscription: str) -> None:
    console.browser.post("/console/topics", name="lonely")
    for topic in ("lonely", "nowhere"):
        for part in ("", "/confirm"):
            path = f"/console/topics/{topic}/subscriptions/{subscription}{part}"
            assert console.browser.post(path, filter="{}").status_code in (400, 404)
        assert console.browser.get(f"/console/topics/{topic}/subscriptions/{subscription}").status_code in (400, 404)
    for page in ("subscribe", "publish"):
        assert console.browser.get(f"/console/topics/nowhere/{page}").status_code == 404


# --- publish ---------------------------------------------------------------------------------------------------------
def test_a_message_with_everything_is_published(console: Console, topic: str) -> None:
    go(subscribe(console.browser, topic, protocol="sqs", endpoint=topic))
    texts = {"default": "for everyone", "sqs": f"for queues {HOSTILE}"}
    form = {
        "subject": "An order", "body": json.dumps(texts), "structure": "1", "group": "tenant",
        "attribute": ["n", "", "b"], "type": ["Number", "String", "Binary"], "value": ["7", "", "AQI="],
    }  # fmt: skip
    assert (
        go(console.browser.post(f"/console/topics/{topic}/publish", None, **form)) == f"/topics/{topic}?done=published"
    )
    url = console.sqs.get_queue_url(QueueName=topic)["QueueUrl"]
    (message,) = console.sqs.receive_message(QueueUrl=url, WaitTimeSeconds=5)["Messages"]
    envelope = json.loads(message["Body"])
    assert (envelope["Subject"], envelope["Message"]) == ("An order", texts["sqs"])
    assert envelope["MessageAttributes"] == {
        "n": {"Type": "Number", "Value": "7"}, "b": {"Type": "Binary", "Value": "AQI="},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("form", "field"),
    [({"body": ""}, "body"), ({"body": "x", "subject": "a\nb"}, "subject"), ({"body": "{", "structure": "1"}, "body"),
     ({"body": "x\x01"}, "body"), ({"body": "x", "attribute": HOSTILE, "type": "String", "value": "1"}, "attribute"),
     ({"body": "x", "attribute": "n", "type": "Number", "value": "many"}, "attribute"),
     ({"body": "x" * 262_145}, "body")],
)  # fmt: skip
def test_a_message_with_a_fault_is_kept(console: Console, form: dict[str, str], field: str) -> None:
    console.browser.post("/console/topics", name="unpublished")
    response = console.browser.post("/console/topics/unpublished/publish", **form)
    assert response.status_code == 400
    assert f'id="problem-{field}"' in response.text
    assert "<script>alert" not in response.text
    assert form["body"][:40] in response.text


def test_a_fifo_topic_needs_a_group(console: Console) -> None:
    console.browser.post("/console/topics", name="placed", fifo="1")
    console.queue("placed.fifo", FifoQueue="true")
    go(subscribe(console.browser, "placed.fifo", protocol="sqs", endpoint="placed.fifo", raw="1"))
    publish = "/console/topics/placed.fifo/publish"
    assert 'id="problem-group"' in console.browser.post(publish, body="x").text
    assert 'id="problem-dedup"' in console.browser.post(publish, body="x", group="g").text
    go(console.browser.post(publish, body="x", group="g", dedup="d"))
    url = console.sqs.get_queue_url(QueueName="placed.fifo")["QueueUrl"]
    (message,) = console.sqs.receive_message(QueueUrl=url, AttributeNames=["All"], WaitTimeSeconds=5)["Messages"]
    assert (message["Body"], message["Attributes"]["MessageGroupId"]) == ("x", "g")


# --- mappings --------------------------------------------------------------------------------------------------------
def test_a_mapping_is_changed_and_its_filters_are_tested(console: Console, topic: str) -> None:
    assert f'name="queue" value="{topic}"' in console.page(f"/mappings/new?queue={topic}")
    form = {"queue": topic, "function": "http://127.0.0.1:1/handle", "filters": '{"body": {"kind": ["order"]}}'}
    for sample, passes in (('{"kind": "order"}', True), ('{"kind": "refund"}', False)):
        tested = console.browser.post("/console/mappings", **form, do="test", sample=sample)
        assert ("The message passes." in tested.text, "does not pass" in tested.text) == (passes, not passes)
        assert 'value="http://127.0.0.1:1/handle"' in tested.text
    assert "No mapping matches" in console.page(f"/mappings?queue={topic}")
    path = go(console.browser.post("/console/mappings", **form)).partition("?")[0]
    page = console.page(f"{path}/change")
    assert "&#34;kind&#34;" in page
    version = page.partition('name="version" value="')[2].partition('"')[0]
    more = {"batch_size": "20", "window_secs": "3", "max_concurrency": "7", "version": version}
    attributes = {"attribute": "n", "type": "String", "value": "7"}
    changed = form | more | {"filters": '{"messageAttributes": {"n": {"stringValue": ["7"]}}}\r\n'}
    tested = console.browser.post(f"/console{path}/change", **changed, **attributes, do="test")
    assert "The message passes." in tested.text
    assert go(console.browser.post(f"/console{path}/change", **changed)) == f"{path}?done=saved"
    shown = console.page(path)
    assert "at most 20 messages" in shown
    assert "at most 7 invocations" in shown
    assert "messageAttributes" in shown
    assert console.audit("lambda:UpdateEventSourceMapping")[5] == "console"
    late = console.browser.post(f"/console{path}/change", **changed | {"batch_size": "5"})
    assert (late.status_code, "Another user has changed" in late.text) == (400, True)
    console.browser.post(f"/console{path}/delete")


@pytest.mark.parametrize(
    ("form", "field", "text"),
    [({"batch_size": "many"}, "batch_size", "must be a number"),
     ({"batch_size": "20"}, "window_secs", "greater than 0"),
     ({"max_concurrency": "1"}, "max_concurrency", ">= 2"),
     ({"filters": '{}\n{"body": [}'}, "filters", "Line 2, column 11"),
     ({"filters": '{"body": [{"numerc": 1}]}'}, "filters", "Line 1, column"),
     ({"filters": "[]"}, "filters", "JSON object"),
     ({"filters": "[" * 20_000}, "filters", "deep"), ({"function": HOSTILE}, "function", "unction"),
     ({"function": "arn:aws:lambda:us-east-1:111111111111:function:f"}, "function", "unction"),
     ({"queue": "not-there"}, "queue", "does not exist"), ({"queue": "a b"}, "queue", "queue"),
     ({"queue": "arn:aws:sqs:us-east-1:111111111111:x"}, "queue", "must be in the mapping's account")],
)  # fmt: skip
def test_a_fault_of_a_mapping_is_shown_at_its_field(
    console: Console, form: dict[str, str], field: str, text: str
) -> None:
    console.queue("unmapped")
    given = {"queue": "unmapped", "function": "http://127.0.0.1:1/", **form}
    response = console.browser.post("/console/mappings", **given)
    assert response.status_code in (400, 404)
    assert text in text_of(response).partition("Nothing was saved.")[2]
    assert f'id="problem-{field}"' in response.text
    assert "<script>alert" not in response.text
