"""The console's screens show real queues, and their forms change them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from tests.support.database import Database, TestServer
from tests.support.programs.penstock_service import Service, running_service
from tests.support.wait import wait_until
from tests.support.web.report_page import ConsoleClient

pytestmark = pytest.mark.xdist_group("console")

HOSTILE = "<script>alert(1)</script>\"'&{{7*7}}`|"


@dataclass
class Console:
    database: Database
    service: Service
    browser: ConsoleClient
    sqs: Any

    def queue(self, name: str, **attributes: str) -> str:
        return str(self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])

    def page(self, path: str) -> str:
        response = self.browser.get(f"/console{path}")
        assert response.status_code == 200, response.text
        return response.text

    def audit(self, action: str) -> tuple[Any, ...]:
        with psycopg.connect(self.database.dsn) as connection:
            row = connection.execute(
                "select actor, key_id, target, details, affected, interface, changes from queue.audit"
                " where action = %s order by audit_id desc limit 1", (action,)
            ).fetchone()  # fmt: skip
        assert row is not None
        return row


@pytest.fixture(scope="module")
def console(postgres: TestServer) -> Iterator[Console]:
    with postgres.database() as database, running_service(
        database.api_dsn, QUEUE_CONSOLE="full", QUEUE_METRICS_INTERVAL_MS="100"
    ) as service:  # fmt: skip
        sqs = service.sqs()
        yield Console(database, service, ConsoleClient(service), sqs)
        sqs.close()


QUEUES = "arn:aws:sqs:us-east-1:000000000000:"
TOPICS = "arn:aws:sns:us-east-1:000000000000:"
SCHEDULES = "arn:aws:scheduler:us-east-1:000000000000:schedule/default/"


@pytest.fixture(scope="module")
def sixty(console: Console) -> Console:
    """Creates 60 queues, page-000 to page-059; page-037 holds a message."""
    for number in range(60):
        url = console.queue(f"page-{number:03}")
        if number == 37:
            console.sqs.send_message(QueueUrl=url, MessageBody="x")
    wait_until(lambda: 'data-label="Visible">1<' in console.page("/queues?q=page-037"))
    return console


# --- overview and queues ---------------------------------------------------------------------------------------------
def test_a_dead_letter_queue_that_grew_needs_attention(console: Console) -> None:
    dead = console.queue("triage-dead")
    arn = console.sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"][
        "QueueArn"
    ]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    url = console.queue("triage", RedrivePolicy=policy)
    console.sqs.send_message(QueueUrl=url, MessageBody="poison")
    console.sqs.receive_message(QueueUrl=url, VisibilityTimeout=0)
    console.sqs.receive_message(QueueUrl=url)
    wait_until(lambda: "1 dead letter; 1 arrived in the last hour" in console.page(""))
    text = console.page("/queues?q=TRIAGE")
    assert text.count("data-row") == 2
    assert 'to <a class="name" href="/console/queues/triage-dead">' in text
    assert 'of <a class="name" href="/console/queues/triage">' in text


@pytest.mark.parametrize(
    ("query", "first"),
    [("q=page-", "page-000"), ("q=page-&order=desc", "page-059"), ("q=page-&page=2", "page-050"),
     ("q=page-&sort=visible", "page-037"), ("q=page-&page=9", None), ("q=page-&page=x&sort=y", "page-000")],
)  # fmt: skip
def test_queues_by_search_order_and_page(sixty: Console, query: str, first: str | None) -> None:
    text = sixty.page(f"/queues?{query}")
    found = [
        part.partition('"')[0]
        for part in text.split('scope="row"><a class="name" href="/console/queues/')[1:]
    ]
    assert (found[0] if found else None) == first
    assert len(found) == (0 if first is None else 10 if "page=2" in query else 50)
    assert "of 2" in text or first is None


def test_a_poll_gets_the_live_part_alone(console: Console) -> None:
    whole = console.browser.get("/console/queues").text
    part = console.browser.get("/console/queues", **{"hx-request": "true", "hx-request-type": "partial"}).text
    assert "<html" in whole
    assert part.lstrip().startswith('<div id="live" hx-get="/console/queues"')
    tags = re.compile("<[^>]*>").findall  # measurements may have changed in between
    assert " ".join(tags(part)) in " ".join(tags(whole))


# --- a queue ---------------------------------------------------------------------------------------------------------
def test_a_queue_is_made_shown_purged_and_deleted(console: Console) -> None:
    dead = console.browser.post("/console/queues", name="made-dead")
    assert dead.headers["location"] == "/console/queues/made-dead?done=created"
    console.browser.post("/console/queues", name="made", dead="made-dead", receives="3")
    assert console.audit("sqs:CreateQueue")[:3] == (None, None, f"{QUEUES}made")
    text = console.page("/queues/made?done=created")
    assert 'to <a href="/console/queues/made-dead">made-dead</a> after 3 receives' in text
    for snippet in ("sqs.send_message(", "penstock --endpoint", "queue.send(", "aws_sqs_queue"):
        assert snippet in text
    for path in ("purge", "delete"):
        refused = console.browser.post(f"/console/queues/made/{path}", typed="Made")
        assert refused.status_code == 400
        assert "Nothing was done" in refused.text
    console.browser.post("/console/queues/made/send", body="1")
    assert (
        console.browser.post("/console/queues/made/purge", typed="made").headers["location"].endswith("n=1")
    )
    assert console.audit("sqs:PurgeQueue")[2:6] == (f"{QUEUES}made", {}, 1, "console")
    # A second purge within a minute is refused.
    assert console.browser.post("/console/queues/made/purge", typed="made").status_code == 429
    assert console.browser.post("/console/queues/made/delete", typed="made").status_code == 303
    assert console.browser.get("/console/queues/made").status_code == 404


# --- messages --------------------------------------------------------------------------------------------------------
def test_messages_are_looked_at_and_nothing_changes(console: Console) -> None:
    url = console.queue("looked-at")
    attributes = {"tenant": {"DataType": "String", "StringValue": HOSTILE}}
    console.sqs.send_message(
        QueueUrl=url, MessageBody=json.dumps({"n": 1.10, "t": HOSTILE}), MessageAttributes=attributes
    )
    text = console.page("/queues/looked-at/messages")
    assert "alert(1)" in text
    assert "<script>alert" not in text
    assert "49" not in text.partition("<main")[2].partition("49")[0]  # {{7*7}} is text
    path = text.partition('class="preview" href="/console')[2].partition('"')[0]
    shown = console.page(path)
    assert "&#34;n&#34;: 1.1" in shown
    assert "<script>alert" not in shown
    assert "sqs.send_message(" in shown
    assert "AmazonSQS.SendMessage" in shown
    (message,) = console.sqs.receive_message(QueueUrl=url, AttributeNames=["All"])["Messages"]
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"


def test_a_copy_is_sent_and_the_chosen_are_deleted(console: Console) -> None:
    url = console.queue("copied")
    sent = console.sqs.send_message(
        QueueUrl=url,
        MessageBody="line 1\nline 2",
        MessageAttributes={"a": {"DataType": "Number", "StringValue": "7"}},
    )
    path = (
        console.page("/queues/copied/messages")
        .partition('class="preview" href="/console')[2]
        .partition('"')[0]
    )
    number = path.rpartition("/")[2]
    form = console.page(f"/queues/copied/send?copy={number}")
    assert "line 1\nline 2</textarea>" in form
    assert 'value="Number"' in form
    console.browser.post(
        "/console/queues/copied/send",
        body="line 1\r\nline 2",
        copy=number,
        attribute="a",
        type="Number",
        value="7",
    )
    assert console.audit("sqs:SendMessage")[2:5] == (f"{QUEUES}copied", {"copy_of": number}, 1)
    messages = console.sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], VisibilityTimeout=0
    )["Messages"]
    assert [(m["Body"], m["MessageAttributes"]["a"]["StringValue"]) for m in messages] == [
        ("line 1\nline 2", "7")
    ] * 2
    assert len({m["MessageId"] for m in messages}) == 2
    assert sent["MessageId"] in {m["MessageId"] for m in messages}
    answer = console.browser.post(
        "/console/queues/copied/messages/delete", id=[number, "999"], state="visible"
    )
    assert answer.headers["location"].endswith("?state=visible&done=deleted&n=1")
    assert console.audit("sqs:DeleteMessage")[3:5] == ({"ids": [int(number), 999]}, 1)
    assert console.browser.get(f"/console{path}").status_code == 404


@pytest.mark.parametrize(
    "path", ["/messages/0x1", "/messages/99999999999999999999", "/messages?state=x&after=-1"]
)
def test_addresses_of_nothing(console: Console, path: str) -> None:
    console.queue("nothing")
    assert console.browser.get(f"/console/queues/nothing{path}").status_code in (200, 404)
    assert console.browser.get(f"/console/queues/is-not-there{path}").status_code == 404


@pytest.mark.parametrize(
    ("form", "status"),
    [({"body": ""}, 400), ({"body": "x", "delay": "901"}, 400), ({"body": "x", "delay": "-1"}, 400),
     ({"body": "x\x01"}, 400), ({"body": "x", "attribute": "AWS.x", "type": "String", "value": "1"}, 400)],
)  # fmt: skip
def test_a_message_that_cannot_be_sent_shows_the_reason(
    console: Console, form: dict[str, str], status: int
) -> None:
    console.queue("refusing")
    answer = console.browser.post("/console/queues/refusing/send", **form)
    assert answer.status_code == status
    assert 'role="alert"' in answer.text
    assert "Traceback" not in answer.text
    assert "No message is visible" in console.page("/queues/refusing/messages")


@pytest.mark.parametrize(
    ("query", "found"),
    [("text=needle", ["n2"]), ("path=a.n&value=1", ["n1"]), ("path=a.n&value=%222%22", ["n2"]), ("attr=tenant", ["n1"]),
     ("attr=tenant&attr_value=x", []), ("group=g", ["n2"]), ("max_receives=0", ["n1", "n2"]),
     ("state=delayed&text=n", [])],
)  # fmt: skip
def test_messages_by_a_filter_in_the_address(console: Console, query: str, found: list[str]) -> None:
    url = console.queue("filtered")
    if "No message is visible" in console.page("/queues/filtered/messages"):
        tenant = {"tenant": {"DataType": "String", "StringValue": "acme"}}
        console.sqs.send_message(
            QueueUrl=url, MessageBody='{"a":{"n":1},"is":"n1"}', MessageAttributes=tenant
        )
        console.sqs.send_message(
            QueueUrl=url, MessageBody='{"a":{"n":"2"},"is":"n2 needle"}', MessageGroupId="g"
        )
    text = console.page(f"/queues/filtered/messages?{query}")
    assert [name for name in ("n1", "n2") if f"&#34;{name}" in text] == found
    assert "examined 2 of" in text


def test_a_filter_that_cannot_be_says_so(console: Console) -> None:
    console.queue("filtered")
    answer = console.browser.get("/console/queues/filtered/messages?min_receives=many")
    assert answer.status_code == 400
    assert "This filter cannot be used" in answer.text


def test_dead_letters_in_groups_with_what_differs_marked(console: Console) -> None:
    dead = console.queue("grouped-dead")
    arn = console.sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"][
        "QueueArn"
    ]
    url = console.queue(
        "grouped", RedrivePolicy=json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    )
    for body in ('{"order":1,"same":"s"}', '{"order":2,"same":"s"}', "not json"):
        console.sqs.send_message(QueueUrl=url, MessageBody=body)
    while console.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0).get(
        "Messages"
    ):
        pass
    text = console.page("/queues/grouped-dead/failures")
    assert "2 groups in 3 messages" in text
    group = text.partition("2 messages</a>")[2].partition("</section>")[0]
    assert group.count("<mark>") == 2
    assert "<mark>  &#34;order&#34;: 1,</mark>" in group
    assert "&#34;same&#34;" not in "".join(re.findall("<mark>(.*?)</mark>", group))
    assert "**2 dead letters in grouped-dead**" in group
    path = re.findall(r'href="/console(/queues/grouped-dead/messages[?][^"]+)">2 messages', text)[0]
    assert "2 messages of this shape: examined 3 of 3" in console.page(path.replace("&amp;", "&"))
    assert "3 messages" in console.page("/queues/grouped-dead/failures?by=source")
    # All messages move back to the queues that they came from.
    path = "/console/queues/grouped-dead/redrive"
    form = re.findall(rf'href="({path}[?][^"]+)"', text)
    shape = form[0].partition("shape=")[2]
    for bad in (
        {"rate": "501"},
        {"rate": "x"},
        {"id": "x"},
        {"shape": "x"},
        {"first": "0"},
    ):
        assert console.browser.post(path, **bad).status_code == 400
    # The task moves one message of a group first and the other when the operator lets it continue.
    assert "The messages of a group" in console.page(form[0].removeprefix("/console").replace("&amp;", "&"))
    assert console.browser.post(path, shape=shape, source="grouped", rate="500", first="1").status_code == 303
    assert console.audit("sqs:StartMessageMoveTask")[2:4] == (
        f"{QUEUES}grouped-dead",
        {"filter": {"source_queue": "grouped", "shape": shape}, "per_second": 500, "canary": 1},
    )
    wait_until(lambda: ">waiting<" in console.page("/queues/grouped-dead/redrive"))
    move = re.findall("redrive/([0-9a-f-]{36})/continue", console.page("/queues/grouped-dead/redrive"))[0]
    assert visible(console, url) == 1
    assert console.browser.post(f"{path}/{move}/continue").status_code == 303
    wait_until(lambda: ">completed<" in console.page("/queues/grouped-dead/redrive"))
    assert (visible(console, url), visible(console, dead)) == (2, 1)
    assert console.browser.post(f"{path}/{move}/cancel").status_code == 409
    # A task for one chosen message leaves that message in place when the task is cancelled.
    rest = console.page("/queues/grouped-dead/messages")
    chosen = re.findall('name="id" value="([0-9]+)"', rest)
    assert "1 chosen message" in console.page(f"/queues/grouped-dead/redrive?id={chosen[0]}")
    assert console.browser.post(path, id=chosen[0]).status_code == 303
    wait_until(lambda: visible(console, url) == 3)
    exported = console.browser.get("/console/queues/grouped/messages/export")
    assert "attachment" in exported.headers["content-disposition"]
    assert sorted(str(json.loads(line)["message"]) for line in exported.text.splitlines()) == [
        "not json",
        "{'order': 1, 'same': 's'}",
        "{'order': 2, 'same': 's'}",
    ]
    assert (
        len(console.browser.get("/console/queues/grouped/messages/export?text=json").text.splitlines()) == 1
    )


def test_attributes_are_changed_once_the_difference_was_seen(console: Console) -> None:
    url, path = console.queue("changing", VisibilityTimeout="30"), "/console/queues/changing/attributes"

    def timeout() -> str:
        found = console.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])
        return str(found["Attributes"]["VisibilityTimeout"])

    form = {
        name: html.unescape(value)
        for name, value in re.findall(
            'name="([A-Za-z_]+)" value="([^"]*)"', console.page("/queues/changing/attributes")
        )
    }
    assert "Nothing was done" in console.browser.post(path, **form).text
    form["VisibilityTimeout"] = "90"
    shown = console.browser.post(path, **form)
    assert (shown.status_code, timeout()) == (200, "30")
    assert "<del><code>30</code></del>" in shown.text
    assert "<ins><code>90</code></ins>" in shown.text
    console.sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "31"})
    confirmed = {**form, "confirmed": "yes", "before.VisibilityTimeout": "30"}
    assert "in between" in console.browser.post(path, **confirmed).text
    assert timeout() == "31"
    confirmed["before.VisibilityTimeout"] = "31"
    assert console.browser.post(path, **confirmed).status_code == 303
    assert timeout() == "90"
    assert console.audit("sqs:SetQueueAttributes")[2] == f"{QUEUES}changing"
    assert console.audit("sqs:SetQueueAttributes")[6] == {"VisibilityTimeout": ["31", "90"]}
    form["VisibilityTimeout"] = "-1"
    assert (
        console.browser.post(
            path, **{**form, "confirmed": "yes", "before.VisibilityTimeout": "90"}
        ).status_code
        == 400
    )


def visible(console: Console, url: str) -> int:
    """Returns messages of a queue that can be received."""
    found = console.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return int(found["ApproximateNumberOfMessages"])


# --- topics, schedules, deliveries -----------------------------------------------------------------------------------
def test_the_page_shows_which_subscribers_get_a_message(console: Console) -> None:
    sns = console.service.client("sns")
    topic = sns.create_topic(Name="news")["TopicArn"]
    for name, policy in (
        ("news-pt", '{"country": ["PT"]}'),
        ("news-big", '{"n": [{"numeric": [">", 5]}]}'),
        ("news-all", ""),
    ):
        queue = console.queue(name)
        arn = console.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"][
            "QueueArn"
        ]
        attributes = {"RawMessageDelivery": "true"}
        if policy:
            scope = "MessageBody" if name == "news-big" else "MessageAttributes"
            attributes |= {"FilterPolicy": policy, "FilterPolicyScope": scope}
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes=attributes)
    text = console.page("/topics/news?body=%7B%22n%22%3A7%7D&attribute=country&type=String&value=ES")
    answers = {
        name: "gets it" in text.partition(f">{name}</a>")[2].partition("</tr>")[0]
        for name in ("news-pt", "news-big", "news-all")
    }
    assert answers == {"news-pt": False, "news-big": True, "news-all": True}
    form = {"body": '{"n":7}', "attribute": "country", "type": "String", "value": "ES"}
    assert console.browser.post("/console/topics/news/publish", **form).status_code == 303
    for name, expected in answers.items():
        url = console.sqs.get_queue_url(QueueName=name)["QueueUrl"]
        found = console.sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1 if expected else 0).get(
            "Messages", []
        )
        assert [message["Body"] for message in found] == (['{"n":7}'] if expected else [])
    assert console.audit("sns:Publish")[2:5] == (f"{TOPICS}news", {}, 1)
    assert "3" in console.page("/topics?q=NEWS").partition('data-label="Subscriptions">')[2][:3]
    assert console.browser.get("/console/topics/none").status_code == 404
    sns.close()


def test_a_schedule_is_run_paused_and_resumed(console: Console) -> None:
    url = console.queue("scheduled")
    new = {"name": "daily", "cron": "0 3 * * *", "target": {"queue": "scheduled", "message": HOSTILE}}
    assert console.browser.http.post("/v1/schedules", json=new).status_code == 201
    assert 'href="/console/schedules/daily"' in console.page("/schedules?q=dai")
    assert "No schedule matches" in console.page("/schedules?status=paused")
    assert console.browser.post("/console/schedules/daily/run").headers["location"].endswith("?done=ran")
    assert len(console.sqs.receive_message(QueueUrl=url)["Messages"]) == 1
    assert console.audit("penstock:RunSchedule")[2:5] == (f"{SCHEDULES}daily", {}, 1)
    console.browser.post("/console/schedules/daily/status", status="paused")
    text = console.page("/schedules/daily")
    assert "Resume" in text
    assert "by hand" in text
    assert "<script>alert" not in text
    assert "not while paused" in console.page("/schedules?q=daily")
    console.browser.post("/console/schedules/daily/status", status="active")
    assert "Pause" in console.page("/schedules/daily")
    assert console.audit("scheduler:UpdateSchedule")[6] == {"status": ["paused", "active"]}
    assert console.browser.get("/console/schedules/none").status_code == 404


def test_a_mapping_is_made_stopped_and_deleted(console: Console) -> None:
    console.queue("mapped")
    assert "No queue triggers a function yet" in console.page("/mappings")
    form = {
        "queue": "mapped", "function": "http://127.0.0.1:1/handle", "batch_size": "20", "window_secs": "1",
        "max_concurrency": "", "filters": '{"body": {"a": ["<script>alert(1)</script>"]}}\r\n{"body": ["x"]}',
        "report_failures": "1",
    }  # fmt: skip
    made = console.browser.post("/console/mappings", **form).headers["location"]
    path = made.removeprefix("/console").partition("?")[0]
    text = console.page(path)
    assert "gathered for 1 s" in text
    assert "the answer names the failed messages" in text
    assert "<script>alert" not in text
    assert console.audit("lambda:CreateEventSourceMapping")[2:5] == (
        f"{QUEUES}mapped",
        {"function": form["function"], "enabled": False},
        1,
    )
    row = console.page("/mappings?queue=mapped")
    assert ">disabled</span>" in row
    assert 'href="/console/queues/mapped"' in row
    assert "/console/mappings?queue=mapped" in console.page("/queues/mapped")
    assert "No mapping matches" in console.page("/mappings?queue=none")
    console.browser.post(f"/console{path}/state", state="enabled")
    assert ">enabled</span>" in console.page(path)
    assert console.audit("lambda:UpdateEventSourceMapping")[6]["enabled"] == [False, True]
    assert console.browser.post(f"/console{path}/state", state="other").status_code == 400
    assert console.browser.post(f"/console{path}/delete").headers["location"].endswith("?done=unmapped")
    assert console.browser.get(f"/console{path}").status_code == 404
    refused = console.browser.post("/console/mappings", **form | {"batch_size": "many"})
    assert (refused.status_code, "batch size must be a number" in refused.text) == (400, True)
    assert console.browser.post("/console/mappings", **form | {"filters": "{"}).status_code == 400


def test_a_delivery_that_waits_is_shown_and_retried(console: Console) -> None:
    http = console.browser.http
    binding = {"protocol": "https", "endpoint": "https://127.0.0.1:1/hook"}
    assert http.post("/v1/events/hooks.*/subscriptions", json=binding).status_code == 201
    http.post("/v1/events/hooks.a", json={"message": 1})
    text = console.page("/deliveries?view=waiting")
    assert "https://127.0.0.1:1/hook" in text
    number = text.partition("/console/deliveries/")[2].partition("/")[0]
    assert console.browser.post(f"/console/deliveries/{number}/retry").status_code == 303
    assert console.audit("penstock:RetryDelivery")[2:5] == (number, {}, 1)
    hook = {"endpoint": "https://127.0.0.1:1/hook"}
    wait_until(lambda: "127.0.0.1:1/hook" in console.page("/deliveries?view=attempts&failed=1"))
    assert "no such attempt" in console.page("/deliveries?view=attempts&endpoint=https://other.example/")
    assert console.browser.post("/console/deliveries/pause", **hook, status="paused").status_code == 303
    assert console.audit("penstock:PauseEndpoint")[2:5] == (hook["endpoint"], {}, 1)
    wait_until(lambda: "Resume" in console.page("/deliveries"))
    assert console.browser.post("/console/deliveries/retry", **hook, since="hour").status_code == 303
    assert console.audit("penstock:RetryDelivery")[2] == hook["endpoint"]
    assert console.browser.post("/console/deliveries/pause", **hook, status="gone").status_code == 400
    assert console.browser.post("/console/deliveries/999999/retry").status_code == 404


# --- system, keys, audit ---------------------------------------------------------------------------------------------
def test_the_installation_and_the_audit(console: Console) -> None:
    wait_until(
        lambda: (
            "oldest transaction" in console.page("/system")
            and "Not measured yet" not in console.page("/system")
        )
    )
    console.queue("audited")
    console.browser.post("/console/queues/audited/send", body=HOSTILE)
    first = console.page("/audit").partition("<tbody>")[2].partition("</tr>")[0]
    assert "sqs:SendMessage" in first
    assert "audited" in first
    assert "The account has no keys." in console.page("/keys")


# --- weight ----------------------------------------------------------------------------------------------------------
def test_the_first_page_is_light(console: Console) -> None:
    """A browser fetches at most 40 kB for the overview, and nothing from another site."""
    page = console.page("")
    assets = re.findall(r'(?:src|href)="(/console/static/[^"]+)"', page)
    assert len(set(assets)) == 4
    wire = 0
    for path in ("/console", *set(assets)):
        with console.browser.http.stream("GET", path, headers={"accept-encoding": "gzip"}) as response:
            assert (
                response.headers.get("content-encoding") == "gzip"
                or int(response.headers["content-length"]) < 1_400
            )
            wire += len(b"".join(response.iter_raw()))
    assert 5_000 < wire <= 40_000
    assert re.findall(r'(?:src|href|action)="(?:https?:)?//', page) == []
