"""Tests the console's screens with real queues, including the forms that change them."""

import re
from html import unescape
from typing import Any

import psycopg
import pytest
from markupsafe import escape

from tests.support.wait import wait_until
from tests.support.web.console import Console

pytestmark = pytest.mark.xdist_group("console")

HOSTILE = "<script>alert(1)</script>\"'&{{7*7}}`|"


QUEUES = "arn:aws:sqs:us-east-1:000000000000:"
TOPICS = "arn:aws:sns:us-east-1:000000000000:"
SCHEDULES = "arn:aws:scheduler:us-east-1:000000000000:schedule/default/"


@pytest.fixture(scope="module")
def sixty(console: Console) -> Console:
    """Creates the queues page-000 to page-059, and sends a message to page-037."""
    for number in range(60):
        url = console.queue(f"page-{number:03}")
        if number == 37:
            console.sqs.send_message(QueueUrl=url, MessageBody="x")
    wait_until(lambda: 'data-label="Visible">1<' in console.page("/queues?q=page-037"))
    return console


# --- overview and queues ---------------------------------------------------------------------------------------------
def test_a_dead_letter_queue_that_grew_needs_attention(console: Console) -> None:
    console.poison("triage", "poison")
    wait_until(lambda: "1 dead letter; 1 arrived in the last hour." in console.page("?show=all"))
    acts = '<a href="/console/queues/triage-dead/failures">Redrive or delete them</a>'
    # The page shows an estimate while the last measurement is old, as on a busy machine.
    wait_until(lambda: acts in console.page("/queues/triage-dead"))
    assert acts not in console.page("/queues/triage")
    text = console.page("/queues?q=TRIAGE")
    assert text.count("data-row") == 2
    assert 'to <a class="name" href="/console/queues/triage-dead">' in text
    assert 'of <a class="name" href="/console/queues/triage">' in text


@pytest.mark.parametrize(
    ("query", "first"),
    [("q=page-", "page-037"), ("q=page-&sort=name&order=desc", "page-059"), ("q=page-&page=2", "page-050"),
     ("q=page-&sort=visible", "page-037"), ("q=page-&sort=name", "page-000"), ("q=page-&page=9", None),
     ("q=page-&page=x&sort=y&order=desc", "page-037")],
)  # fmt: skip
def test_queues_by_search_order_and_page(sixty: Console, query: str, first: str | None) -> None:
    text = sixty.page(f"/queues?{query}")
    found = [part.partition('"')[0] for part in text.split('scope="row"><a class="name" href="/console/queues/')[1:]]
    assert (found[0] if found else None) == first
    assert len(found) == (0 if first is None else 10 if "page=2" in query else 50)
    assert "of 2" in text or first is None


def test_the_overview_names_messages_that_expire_soon(console: Console) -> None:
    """The queue has many older messages of other queues beside it, but their retention is longer."""
    url = console.queue("expires-soon", MessageRetentionPeriod="3600")
    console.sqs.send_message(QueueUrl=url, MessageBody="x")
    with psycopg.connect(console.database.dsn) as db:
        db.execute(
            "update queue.log l set sent_at = l.sent_at - interval '55 minutes' from queue.queues q"
            " where q.queue_id = l.queue_id and q.name = 'expires-soon'"
        )
    item = r'messages expire</span>\s+<a class="name" href="/console/queues/expires-soon">'
    wait_until(lambda: re.search(item, console.page("?show=all")) is not None)


def test_only_dead_letter_queues_are_listed_by_trouble(console: Console) -> None:
    """The queue with messages comes first, although its name comes last."""
    console.poison("listed-z", "poison")
    console.queue("listed-ordinary")
    console.browser.post("/console/queues", name="listed-a-dead")
    console.browser.post("/console/queues", name="listed-a", dead="listed-a-dead", receives="3")

    def names() -> list[str]:
        text = console.page("/queues?sort=dead&q=listed-")
        assert "2 dead-letter queues with “listed-”" in " ".join(text.split())
        return re.findall(r'scope="row"><a class="name" href="/console/queues/([^/"]+)', text)

    wait_until(lambda: names() == ["listed-z-dead", "listed-a-dead"])
    assert "No dead-letter queue has “ordinary” in its name" in console.page("/queues?sort=dead&q=ordinary")


def test_a_poll_gets_the_live_part_alone(console: Console) -> None:
    whole = console.browser.get("/console/queues").text
    part = console.browser.get("/console/queues", **{"hx-request": "true", "hx-request-type": "partial"}).text
    assert "<html" in whole
    assert part.lstrip().startswith('<div id="live" hx-get="/console/queues"')
    tags = re.compile("<[^>]*>").findall  # The measurements can have changed between the two requests.
    assert " ".join(tags(part)) in " ".join(tags(whole))


# --- a queue ---------------------------------------------------------------------------------------------------------
def test_a_queue_is_made_shown_purged_and_deleted(console: Console) -> None:
    dead = console.browser.post("/console/queues", name="made-dead")
    assert dead.headers["location"] == "/console/queues/made-dead?done=created"
    console.browser.post("/console/queues", name="made", dead="made-dead", receives="3")
    ordered = console.browser.post("/console/queues", name="ordered-by-form", fifo="1", content="1")
    assert ordered.headers["location"] == "/console/queues/ordered-by-form.fifo?done=created"
    assert console.audit("sqs:CreateQueue")[:3] == (None, None, f"{QUEUES}ordered-by-form.fifo")
    text = console.page("/queues/made/settings")
    assert 'to <a href="/console/queues/made-dead">made-dead</a> after 3 receives' in text
    for snippet in ("sqs.send_message(", "penstock --endpoint", "queue.send(", "aws_sqs_queue"):
        assert snippet in text
    for path, title in (("purge", "Purge"), ("delete", "Delete")):
        refused = console.browser.post(f"/console/queues/made/{path}", typed="Made")
        assert refused.status_code == 400
        assert "has not changed the queue" in refused.text
        assert f'<details class="panel danger" open><summary>{title}' in refused.text
        assert 'value="Made" aria-invalid="true"' in refused.text
    console.browser.post("/console/queues/made/send", body="1")
    wait_until(lambda: console.page("/queues/made/settings").count("The queue had 1 message ") == 2)
    assert console.page("/queues/made/settings").count("This is final") == 2
    assert console.browser.post("/console/queues/made/purge", typed="made").headers["location"].endswith("n=1")
    assert console.audit("sqs:PurgeQueue")[2:6] == (f"{QUEUES}made", {}, 1, "console")
    # The service refuses a second purge within a minute.
    assert console.browser.post("/console/queues/made/purge", typed="made").status_code == 429
    assert console.browser.post("/console/queues/made/delete", typed="made").status_code == 303
    assert console.browser.get("/console/queues/made").status_code == 404


def test_the_receivers_are_named_by_their_programs(console: Console) -> None:
    console.sqs.receive_message(QueueUrl=console.queue("received"))
    # The process writes the receivers every ten seconds.
    with psycopg.connect(console.database.dsn) as connection:
        connection.execute(
            "select queue.note_receivers(array[%s], array['arn:aws:iam::000000000000:user/ana'],"
            " array['Boto3/1.35.90 ua/2.0 os/linux#6.1 app/orders-worker'], array['10.0.0.7'], array[now()], array[3])",
            (f"{QUEUES}received",),
        )
    row = console.page("/queues/received/receivers").partition("<tbody>")[2].partition("</tbody>")[0]
    assert ">orders-worker · Boto3/1.35.90<" in row
    assert 'title="Boto3/1.35.90 ua/2.0 os/linux#6.1 app/orders-worker"' in row
    assert ">ana<" in row


def test_the_tabs_of_a_queue_lead_to_its_pages(console: Console) -> None:
    console.queue("tabbed")
    page = console.page("/queues/tabbed")
    tabs = re.findall(r'href="([^"]+)"', page.partition('<nav class="tabs"')[2].partition("</nav>")[0])
    assert [tab.removeprefix("/console/queues/tabbed") for tab in tabs] == [
        "", "/messages", "/failures", "/receivers", "/settings"
    ]  # fmt: skip
    for tab in tabs:
        assert f'href="{tab}" aria-current="page"' in console.page(tab.removeprefix("/console"))
    text = console.page("/queues/tabbed/settings")
    assert '<span title="345600 seconds">4 days</span>' in text
    assert text.index("Danger zone") > text.index("Code for this queue")
    assert 'value="345600"' in console.page("/queues/tabbed/attributes")


@pytest.mark.parametrize(
    ("form", "field", "text"),
    [({"name": HOSTILE}, "name", "alphanumeric"), ({"name": "page-000"}, "name", "exists already"),
     ({"name": "new", "dead": "not-there"}, "dead", "does not exist"),
     ({"name": "new", "dead": "page-000", "receives": "0"}, "dead", "from 1 to 1000"),
     ({"name": "new", "fifo": "1", "dead": "page-000"}, "dead", "same type"),
     ({"name": "new", "content": "1"}, "content", "ContentBasedDeduplication")],
)  # fmt: skip
def test_a_fault_of_a_new_queue_is_shown_at_its_field(
    sixty: Console, form: dict[str, str], field: str, text: str
) -> None:
    response = sixty.browser.post("/console/queues", **form)
    assert response.status_code in (400, 409)
    assert text in response.text.partition(f'id="problem-{field}"')[2].partition("</span>")[0]
    assert f'name="name" value="{escape(form["name"])}"' in response.text
    assert "<script>alert" not in response.text
    assert sixty.browser.get("/console/queues/new").status_code == 404


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
        arn = console.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        attributes = {"RawMessageDelivery": "true"}
        if policy:
            scope = "MessageBody" if name == "news-big" else "MessageAttributes"
            attributes |= {"FilterPolicy": policy, "FilterPolicyScope": scope}
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes=attributes)
    text = console.page("/topics/news?body=%7B%22n%22%3A7%7D&attribute=country&type=String&value=ES")
    responses = {
        name: ">matches<" in text.partition(f">{name}</a>")[2].partition("</tr>")[0]
        for name in ("news-pt", "news-big", "news-all")
    }
    assert responses == {"news-pt": False, "news-big": True, "news-all": True}
    form = {"body": '{"n":7}', "attribute": "country", "type": "String", "value": "ES"}
    assert console.browser.post("/console/topics/news/publish", **form).status_code == 303
    for name, expected in responses.items():
        url = console.sqs.get_queue_url(QueueName=name)["QueueUrl"]
        found = console.sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1 if expected else 0).get("Messages", [])
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
    assert 'data-label="Next">paused' in console.page("/schedules?q=daily")
    console.browser.post("/console/schedules/daily/status", status="active")
    assert "Pause" in console.page("/schedules/daily")
    assert console.audit("scheduler:UpdateSchedule")[6] == {"status": ["paused", "active"]}
    assert console.browser.get("/console/schedules/none").status_code == 404


def test_a_late_schedule_shows_what_it_missed_and_what_to_do(console: Console) -> None:
    """A lock that permits the update of other columns keeps the service from firing the schedule."""
    console.queue("late")
    new = {"name": "late", "cron": "0 3 * * *", "target": {"queue": "late", "message": 1}}
    assert console.browser.http.post("/v1/schedules", json=new).status_code == 201
    page = console.page("/schedules/late")
    assert ("is late" in page, "Missed times" in page) == (False, False)
    with psycopg.connect(console.database.dsn) as holder, psycopg.connect(console.database.dsn) as other:
        holder.execute("select from queue.schedule where name = 'late' for key share")
        other.execute(
            "update queue.schedule set next_fire_at = now() - interval '5 min', due_at = now() - interval '5 min'"
            " where name = 'late'"
        )
        other.commit()
        page = console.page("/schedules/late")
        blocker = f"PostgreSQL's process {holder.info.backend_pid} holds a lock on queue.schedule"
    assert blocker in unescape(page.partition('class="notice bad">')[2].partition("</p>")[0])
    missed, following = page.partition("Missed times")[2].split("Next times")
    assert "5 min ago" in missed
    assert "due for" not in following
    assert console.browser.post("/console/schedules/late/delete").status_code == 303


def test_the_list_of_schedules_begins_with_those_that_fail(console: Console) -> None:
    """A paused one comes first. A click on the title of the first column lists them by name."""
    console.queue("ranked")
    for name in ("ranked-a", "ranked-b", "ranked-c", "ranked-d"):
        new = {"name": name, "cron": "0 3 * * *", "target": {"queue": "ranked", "message": 1}}
        assert console.browser.http.post("/v1/schedules", json=new).status_code == 201
    with psycopg.connect(console.database.dsn) as connection:
        connection.execute(
            "update queue.schedule set consecutive_failures = 2, last_error = 'x',"
            " status = case name when 'ranked-d' then 'paused' else status end where name in ('ranked-c', 'ranked-d')"
        )

    def names(query: str = "") -> list[str]:
        return re.findall(r'scope="row"><a class="name" href="/console/schedules/([^"]+)"', console.page(query))

    wait_until(lambda: names("/schedules?q=ranked-") == ["ranked-d", "ranked-c", "ranked-a", "ranked-b"])
    assert names("/schedules?q=ranked-&sort=name") == ["ranked-a", "ranked-b", "ranked-c", "ranked-d"]
    assert names("/schedules?q=ranked-&after=ranked-a") == ["ranked-b", "ranked-c", "ranked-d"]

    def read_texts() -> list[str]:
        # The overview has the first 20 only, and other tests make more.
        concerns = console.browser.http.get("/v1/metrics/attention").raise_for_status().json()["concerns"]
        return [concern["text"] for concern in concerns if concern["page"] == "/console/schedules/ranked-c"]

    wait_until(lambda: read_texts() == ["The schedule failed 2 times: x."])


def test_a_mapping_is_made_stopped_and_deleted(console: Console) -> None:
    console.queue("mapped")
    assert "There are no mappings yet." in console.page("/mappings")
    form = {
        "queue": "mapped", "function": "http://127.0.0.1:1/handle", "batch_size": "20", "window_secs": "1",
        "max_concurrency": "", "filters": '{"body": {"a": ["<script>alert(1)</script>"]}}\r\n{"body": ["x"]}',
        "report_failures": "1",
    }  # fmt: skip
    made = console.browser.post("/console/mappings", **form).headers["location"]
    path = made.removeprefix("/console").partition("?")[0]
    text = console.page(path)
    assert "collected for 1 s" in text
    assert "the response names failed messages" in text
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
    with psycopg.connect(console.database.dsn) as connection:
        connection.execute(
            "insert into queue.event_source_mapping (mapping_id, account_id, region, queue_arn, function_arn, options, "
            "enabled, failing_since) values ('ffffffff-ffff-4fff-8fff-ffffffffffff', '000000000000', 'us-east-1', "
            "'arn:aws:sqs:us-east-1:000000000000:mapped', 'http://127.0.0.1:1/fails', '{}', true, now())"
        )
    functions = r'title="http://127.0.0.1:1/(\w+)"'
    wait_until(lambda: re.findall(functions, console.page("/mappings?queue=mapped")) == ["fails", "handle"])
    with psycopg.connect(console.database.dsn) as connection:
        connection.execute(
            "update queue.event_source_mapping set failing_since = now() - interval '11 seconds' "
            "where failing_since is not null"
        )
    leads = 'href="/console/mappings/ffffffff-ffff-4fff-8fff-ffffffffffff">mapped to http://127.0.0.1:1/fails</a>'
    wait_until(lambda: leads in console.page("?show=all"))
    console.browser.post(f"/console{path}/state", state="enabled")
    assert ">enabled</span>" in console.page(path)
    assert console.audit("lambda:UpdateEventSourceMapping")[6]["enabled"] == [False, True]
    assert console.browser.post(f"/console{path}/state", state="other").status_code == 400
    assert console.browser.post(f"/console{path}/delete").headers["location"].endswith("?done=unmapped")
    assert console.browser.get(f"/console{path}").status_code == 404
    refused = console.browser.post("/console/mappings", **form | {"batch_size": "many"})
    assert (refused.status_code, "batch size must be a number" in refused.text) == (400, True)
    assert console.browser.post("/console/mappings", **form | {"filters": "{"}).status_code == 400


def wait_for_row(console: Console, endpoint: str, text: str, view: str = "waiting") -> str:
    """Returns the row of an endpoint's delivery as soon as the row has a text."""

    found: list[str] = []

    def find() -> bool:
        rows = console.page(f"/deliveries?view={view}").split("<tr")
        found[:] = [row for row in rows if endpoint in row and text in row]
        return bool(found)

    wait_until(find)
    return found[0]


def give_up(console: Console) -> None:
    with psycopg.connect(console.database.dsn) as db:
        db.execute("update queue.outgoing_delivery set state = 'exhausted', lease = null, waiting = false")


def test_the_waiting_deliveries_never_show_a_past_time(console: Console) -> None:
    """The next attempt is now, later, or after the pause of the endpoint. A time in the past would say nothing."""
    endpoint = "https://127.0.0.1:1/late"
    binding = {"protocol": "https", "endpoint": endpoint}
    assert console.browser.http.post("/v1/events/late.*/subscriptions", json=binding).status_code == 201
    console.browser.http.post("/v1/events/late.a", json={"message": 1})
    wait_for_row(console, endpoint, "in ")
    with psycopg.connect(console.database.dsn) as db:
        db.execute(
            "update queue.outgoing_delivery set due_at = now() - interval '10 minutes', lease = null, waiting = true,"
            " waits_for = 'x' where endpoint = %s", (endpoint,)
        )  # fmt: skip
    assert "due now" in wait_for_row(console, endpoint, "due now")
    with psycopg.connect(console.database.dsn) as db:
        db.execute(
            "insert into queue.delivery_endpoint (endpoint_key, account_id, host, next_at, paused_until)"
            " select '000000000000 ' || %s, '000000000000', 'x', at, at"
            " from (select now() + interval '9 minutes') x(at) on conflict (endpoint_key)"
            " do update set paused_until = excluded.paused_until, next_at = excluded.next_at",
            (endpoint,),
        )
    assert ">in " in wait_for_row(console, endpoint, "fails: the service tries one delivery at a time")
    (found,) = [one for one in console.browser.http.get("/v1/deliveries").json() if one["endpoint"] == endpoint]
    assert found["waits_for"] == "endpoint_fails"
    row = console.page("/deliveries").partition(f">{endpoint}</a>")[2].partition("</tr>")[0]
    assert '<input type="hidden" name="status"\n      value="again"><button>Try again now</button>' in row
    tried = console.browser.post("/console/deliveries/pause", endpoint=endpoint, status="again")
    assert tried.headers["location"] == "/console/deliveries?done=tried"
    assert console.audit("penstock:ResumeEndpoint")[2] == endpoint
    with psycopg.connect(console.database.dsn) as db:
        ahead = db.execute(
            "select count(*) from queue.delivery_endpoint where endpoint_key = '000000000000 ' || %s"
            " and paused_until > now() + interval '8 minutes'", (endpoint,),
        ).fetchone()  # fmt: skip
        assert ahead == (0,), "the pause of nine minutes is over"
        db.execute("delete from queue.outgoing_delivery where endpoint = %s", (endpoint,))


def test_a_delivery_that_waits_is_shown_and_retried(console: Console) -> None:
    http = console.browser.http
    binding = {"protocol": "https", "endpoint": "https://127.0.0.1:1/hook"}
    assert http.post("/v1/events/hooks.*/subscriptions", json=binding).status_code == 201
    http.post("/v1/events/hooks.a", json={"message": 1})
    text = wait_for_row(console, "https://127.0.0.1:1/hook", "")
    number = text.partition("/console/deliveries/")[2].partition("/")[0]
    assert console.browser.post(f"/console/deliveries/{number}/retry").status_code == 303
    assert console.audit("penstock:RetryDelivery")[2:5] == (number, {}, 1)
    hook = {"endpoint": "https://127.0.0.1:1/hook"}
    wait_until(lambda: "127.0.0.1:1/hook" in console.page("/deliveries?view=attempts&failed=1"))
    assert "No examined attempt matches" in console.page("/deliveries?view=attempts&endpoint=https://other.example/")
    for sort, order in (("", "ascending"), ("endpoint", "ascending"), ("failed", "descending"), ("p95", "descending")):
        text = console.page(f"/deliveries?sort={sort}")
        assert (text.count(f'aria-sort="{order}"'), hook["endpoint"] in text) == (1, True), sort
    assert ">fails</span>" in console.page("/deliveries"), "every attempt has failed"
    assert console.browser.post("/console/deliveries/pause", **hook, status="paused").status_code == 303
    assert console.audit("penstock:PauseEndpoint")[2:5] == (hook["endpoint"], {}, 1)
    wait_until(lambda: "Resume" in console.page("/deliveries"))
    row = console.page("/deliveries").partition(f">{hook['endpoint']}</a>")[2].partition("</tr>")[0]
    assert ("Resume" in row, "Try again now" in row) == (True, False), "a user paused the endpoint"
    wait_until(lambda: f'href="/console/deliveries">{hook["endpoint"]}</a>' in console.page("?show=all"))
    wait_for_row(console, hook["endpoint"], "after somebody resumes the")
    give_up(console)
    asked = console.browser.post("/console/deliveries/retry", **hook, since="hour")
    assert (asked.status_code, "Retry 1 delivery?" in asked.text) == (200, True)
    assert "given up" not in wait_for_row(console, hook["endpoint"], "", "given-up")
    assert console.audit("penstock:RetryDelivery")[2] != hook["endpoint"], "the question retries nothing"
    nothing = console.browser.post("/console/deliveries/retry", endpoint="https://other.example/", since="any time")
    assert "No given-up delivery matches" in nothing.text
    retried = console.browser.post("/console/deliveries/retry", **hook, since="hour", confirmed="yes")
    assert retried.headers["location"].endswith("&count=1")
    assert console.audit("penstock:RetryDelivery")[2] == hook["endpoint"]
    rows = console.page("/deliveries?view=given-up").split("<tr")[1:]
    assert [row for row in rows if hook["endpoint"] in row] == []
    assert console.browser.post("/console/deliveries/pause", **hook, status="gone").status_code == 400
    assert console.browser.post("/console/deliveries/999999/retry").status_code == 404


def test_the_overview_tells_that_a_confirmation_was_given_up(console: Console) -> None:
    """Until somebody confirms the subscription, its endpoint receives nothing from the topic."""
    sns: Any = console.service.client("sns")
    topic = sns.create_topic(Name="unconfirmed")["TopicArn"]
    endpoint = "https://127.0.0.1:1/unconfirmed"
    sns.subscribe(TopicArn=topic, Protocol="https", Endpoint=endpoint)
    sns.close()
    wait_for_row(console, endpoint, "")
    give_up(console)
    told = "The confirmation of a subscription to the topic unconfirmed was given up: "
    wait_until(lambda: told in console.page("?show=all"))
    link = '<a href="/console/deliveries?view=given-up"><span class="badge bad">given up</span></a>'
    wait_until(lambda: link in " ".join(console.page("/topics/unconfirmed").split()))
    with psycopg.connect(console.database.dsn) as db:
        db.execute("update queue.notice set kind = 'Notification' where topic_arn = %s", (topic,))
    told_instead = "1 delivery was given up: "
    wait_until(lambda: told not in (page := console.page("?show=all")) and told_instead in page)


# --- system, keys, audit ---------------------------------------------------------------------------------------------
def test_the_installation_and_the_audit(console: Console) -> None:
    wait_until(
        lambda: "oldest transaction" in console.page("/system") and "Not measured yet" not in console.page("/system")
    )
    console.queue("audited")
    console.browser.post("/console/queues/audited/send", body=HOSTILE)
    first = console.page("/audit").partition("<tbody>")[2].partition("</tr>")[0]
    assert "sqs:SendMessage" in first
    assert "audited" in first
    assert "The account has no keys." in console.page("/keys")


# --- weight ----------------------------------------------------------------------------------------------------------
def test_the_first_page_is_light(console: Console) -> None:
    """A browser fetches at most 40 kB for the overview, and loads no files from another site."""
    page = console.page("")
    assets = re.findall(r'(?:src|href)="(/console/static/[^"]+)"', page)
    assert len(set(assets)) == 4
    wire = 0
    for path in ("/console", *set(assets)):
        with console.browser.http.stream("GET", path, headers={"accept-encoding": "gzip"}) as response:
            assert response.headers.get("content-encoding") == "gzip" or int(response.headers["content-length"]) < 1_400
            wire += len(b"".join(response.iter_raw()))
    assert 5_000 < wire <= 40_000
    assert re.findall(r'(?:src|href|action)="(?:https?:)?//', page) == []
