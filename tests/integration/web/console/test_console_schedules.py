"""Tests the forms of schedules and their groups: the preview, problems at their fields, changes, and rights."""

import html
import re
from typing import Any

import psycopg
import pytest

from tests.support.wait import wait_until
from tests.support.web.console import Console, ConsoleClient, ConsoleInstallation

pytestmark = pytest.mark.xdist_group("console")

HOSTILE = "<script>alert(1)</script>\"'&{{7*7}}`|"
FORM = {
    "group": "default", "expression": "cron(30 9 ? * MON-FRI *)", "timezone": "Europe/Berlin", "service": "sqs",
    "target": "formed", "input": '{"do": "report"}', "enabled": "1",
}  # fmt: skip
SCHEDULES = "arn:aws:scheduler:us-east-1:000000000000:schedule/"


def problem(page: str, field: str) -> str:
    """Returns the text of the problem at a field, or an empty string."""
    match = re.search(rf'<span class="problem" id="problem-{field}" role="alert">(.*?)</span>', page, re.DOTALL)
    return "" if match is None else html.unescape(match[1])


def typed(page: str) -> dict[str, str]:
    """Returns the values of a form's fields."""
    form = page.partition('id="schedule"')[2].partition("</form>")[0]
    inputs = re.findall(r'<input[^>]*\bname="(\w+)"[^>]*\bvalue="([^"]*)"', form)
    areas = re.findall(r'<textarea[^>]*name="(\w+)"[^>]*>\n(.*?)</textarea>', form, re.DOTALL)
    chosen = re.findall(r'<select[^>]*name="(\w+)".*?<option\s+value="([^"]*)" selected', form, re.DOTALL)
    checks = dict(re.findall(r'type="checkbox" name="(\w+)" value="1"( checked)?', form))
    fields = {name: html.unescape(text) for name, text in (*inputs, *areas, *chosen)}
    return {name: text for name, text in fields.items() if checks.get(name, " checked")}


def test_a_schedule_is_previewed_created_and_changed(console: Console) -> None:
    """The console's schedule is a schedule of EventBridge Scheduler with all members of the form."""
    scheduler: Any = console.service.client("scheduler")
    console.queue("formed")
    console.queue("formed-dead")
    form = {
        **FORM, "name": "report", "start": "2036-01-01T08:00", "end": "2037-01-01T08:00", "window": "15",
        "max_age": "3600", "attempts": "5", "dead": "formed-dead", "completion": "DELETE", "description": HOSTILE,
    }  # fmt: skip
    shown = console.browser.post("/console/schedules-preview", **form)
    assert shown.status_code == 200
    assert shown.text.count('data-label="UTC"') == 10
    assert "Tue 2036-01-01 09:30:00 CET" in shown.text
    assert "2036-01-01 08:30:00 UTC" in shown.text
    assert typed(shown.text).items() >= form.items()
    assert "<script>alert" not in shown.text
    made = console.browser.post("/console/schedules", **form)
    assert made.headers["location"] == "/console/schedules/report?done=scheduled"
    found = scheduler.get_schedule(Name="report")
    assert found["ScheduleExpression"] == form["expression"]
    assert found["StartDate"].timestamp() == 2082783600
    assert found["FlexibleTimeWindow"] == {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15}
    assert found["Target"]["Arn"] == "arn:aws:sqs:us-east-1:000000000000:formed"
    assert found["Target"]["RetryPolicy"] == {"MaximumEventAgeInSeconds": 3600, "MaximumRetryAttempts": 5}
    assert found["Target"]["DeadLetterConfig"]["Arn"].endswith(":formed-dead")
    assert (found["ActionAfterCompletion"], found["Description"]) == ("DELETE", HOSTILE)
    assert console.audit("scheduler:CreateSchedule")[2] == f"{SCHEDULES}default/report"
    page = console.page("/schedules/report/change")
    assert "This console needs no sign-in." in page
    again = typed(page)
    assert again["start"] == "2036-01-01T08:00:00"
    changed = console.browser.post("/console/schedules/report/change", **again | {"attempts": "0", "window": ""})
    assert changed.headers["location"] == "/console/schedules/report?done=rescheduled"
    after = scheduler.get_schedule(Name="report")
    assert after["Target"]["RetryPolicy"]["MaximumRetryAttempts"] == 0
    assert after["FlexibleTimeWindow"] == {"Mode": "OFF"}
    assert (after["StartDate"], after["Target"]["Input"]) == (found["StartDate"], found["Target"]["Input"])
    stale = console.browser.post("/console/schedules/report/change", **again)
    assert (stale.status_code, "Another user has changed the schedule" in stale.text) == (400, True)
    assert console.browser.post("/console/schedules/report/delete").headers["location"].endswith("?done=unscheduled")
    assert console.browser.get("/console/schedules/report/change").status_code == 404
    scheduler.close()


@pytest.mark.parametrize(
    ("changes", "field", "text"),
    [
        ({"name": "a b"}, "name", "regular expression"),
        ({"name": ""}, "name", "length greater"),
        ({"group": "nowhere"}, "group", "does not exist"),
        ({"expression": "cron(0 9 ? * MONN *)"}, "expression", "MONN"),
        ({"expression": "0 9 * * *"}, "expression", "cron("),
        ({"timezone": "Europe/Berlinn"}, "timezone", "Did you mean Europe/Berlin?"),
        ({"timezone": "../../etc/passwd"}, "timezone", "not a time zone"),
        ({"start": "2030-01-02T00:00", "end": "2030-01-01T00:00"}, "end", "later than start"),
        ({"start": "2027-03-28T02:30"}, "start", "does not exist in Europe/Berlin"),
        ({"start": HOSTILE}, "start", "is not a time"),
        ({"start": "0001-01-01T00:00"}, "start", "year"),
        ({"target": ""}, "target", "length greater"),
        ({"target": "arn:aws:kinesis:us-east-1:000000000000:stream/x"}, "target", "ARN of a queue"),
        ({"target": "orders.fifo"}, "message_group", "not be null"),
        ({"target": "mials"}, "target", "There is no queue 'mials'."),
        ({"service": "sns", "target": "no-such"}, "target", "There is no topic 'no-such'."),
        ({"dead": "mials"}, "dead", "There is no queue 'mials'."),
        ({"service": "lambda", "target": "arn:aws:lambda:us-east-1:111122223333:function:f"}, "target", "function"),
        ({"dead": "arn:aws:sns:us-east-1:000000000000:x"}, "dead", "regular expression"),
        ({"window": "1441"}, "window", "less than or equal to 1440"),
        ({"max_age": "5"}, "max_age", "greater than or equal to 60"),
        ({"attempts": "many"}, "attempts", "whole number"),
        ({"input": "\x07"}, "input", "characters"),
    ],
)
def test_a_problem_is_at_its_field_and_nothing_is_lost(
    console: Console, changes: dict[str, str], field: str, text: str
) -> None:
    console.queue("formed")
    console.queue("orders.fifo", FifoQueue="true")
    form = {**FORM, "name": "refused", "description": HOSTILE} | changes
    response = console.browser.post("/console/schedules", **form)
    assert response.status_code in (400, 404)
    assert text in problem(response.text, field), problem(response.text, field)
    assert typed(response.text).items() >= {name: text for name, text in form.items() if name != "input"}.items()
    assert "<script>alert" not in response.text
    assert console.browser.get("/console/schedules/refused").status_code == 404


def test_a_new_schedule_shows_first_what_each_schedule_needs(console: Console) -> None:
    """The other fields are folded, until one of them has a problem. The form suggests queues and topics by name."""
    console.queue("suggested")
    console.browser.post("/console/topics", name="suggested-topic")
    page = console.page("/schedules-new")
    form = page.partition('id="schedule"')[2].partition("</form>")[0]
    shown = re.sub(r"<details>.*?</details>", "", form, flags=re.DOTALL)
    assert re.findall(r'<(?:input|textarea|select)\s[^>]*?\bname="(\w+)"', shown) == [
        "key", "version", "name", "expression", "target", "input"
    ]  # fmt: skip
    offered = dict(re.findall('<option value="([^"]+)" label="([^"]+)">', form))
    topic = "arn:aws:sns:us-east-1:000000000000:suggested-topic"
    assert (offered["suggested"], offered[topic]) == ("queue", "topic suggested-topic")
    made = console.browser.post("/console/schedules", **{**FORM, "name": "to-topic", "target": topic})
    assert made.headers["location"] == "/console/schedules/to-topic?done=scheduled"
    assert console.browser.post("/console/schedules/to-topic/delete").status_code == 303
    refused = console.browser.post("/console/schedules", **{**FORM, "name": "x", "target": topic, "attempts": "many"})
    assert "<details open><summary>More" in refused.text


def test_a_mistake_has_its_place_and_a_suggestion(console: Console) -> None:
    """A browser with scripts receives only the preview."""
    form = {**FORM, "expression": "cron(0 9 ? * MONN *)"}
    headers = {"origin": console.browser.url, "hx-request": "true", "hx-request-type": "partial"}
    part = console.browser.http.post("/console/schedules-preview", data=form, headers=headers)
    assert part.status_code == 200
    assert part.text.lstrip().startswith('<section id="preview"')
    assert "cron(0 9 ? * <mark>▸</mark>MONN *)" in part.text
    assert "Did you mean <code>cron(0 9 ? * MON *)</code>?" in part.text


@pytest.mark.parametrize(
    ("sentence", "stored"),
    [
        ("every weekday at 9am", "cron(0 9 ? * MON-FRI *)"), ("Every Weekend at 21:30", "cron(30 21 ? * SUN,SAT *)"),
        ("every sunday at noon", "cron(0 12 ? * SUN *)"), ("daily at 21:00", "cron(0 21 * * ? *)"),
        ("hourly at :15", "cron(15 * * * ? *)"), ("every 5 minutes", "cron(*/5 * * * ? *)"),
    ],
)  # fmt: skip
def test_a_schedule_is_written_in_words(console: Console, sentence: str, stored: str) -> None:
    """The form accepts the sentences of the command line. The preview shows the same times as the stored schedule."""
    console.queue("words")
    form = {**FORM, "target": "words", "name": re.sub("[^A-Za-z0-9]+", "-", f"words {sentence}")}
    preview = console.browser.post("/console/schedules-preview", **{**form, "expression": sentence}).text
    same = console.browser.post("/console/schedules-preview", **{**form, "expression": stored}).text
    times = r"<th scope=\"row\">([^<]+)</th>"
    assert len(re.findall(times, preview)) == 10
    assert re.findall(times, preview) == re.findall(times, same)
    made = console.browser.post("/console/schedules", **{**form, "expression": sentence})
    assert made.status_code == 303, made.text
    scheduler = console.service.client("scheduler")
    assert scheduler.get_schedule(Name=form["name"])["ScheduleExpression"] == stored
    scheduler.close()


@pytest.mark.parametrize(
    ("sentence", "problem"),
    [
        ("every wekday at 9am", "is not a day or unit"), ("every weekday at 25:00", "25:00"),
        ("daily", "at and a time"),
        ("every 30 seconds", "at most once a minute"), ("every 7 minutes", "divide"), ("every <b>", "&lt;b&gt;"),
    ],
)  # fmt: skip
def test_wrong_words_are_explained(console: Console, sentence: str, problem: str) -> None:
    console.queue("words")
    form = {**FORM, "target": "words", "name": "wrong-words", "expression": sentence}
    for path in ("schedules-preview", "schedules"):
        refused = console.browser.post(f"/console/{path}", **form)
        assert refused.status_code == 400
        assert problem in refused.text
    assert "wrong-words" not in console.page("/schedules")


@pytest.mark.parametrize(
    ("expression", "texts"),
    [
        ("cron(30 2 * * ? *)", ("forward from 02:00 to 03:00. The schedule skips 02:30", "02:30 occurs twice")),
        ("at(2035-10-28T02:30:00)", ("occurs twice in Europe/Berlin", "first of two", "2035-10-28 00:30:00 UTC")),
        ("rate(1 hour)", ()),
    ],
)
def test_the_preview_tells_what_the_clock_does(console: Console, expression: str, texts: tuple[str, ...]) -> None:
    text = console.browser.post("/console/schedules-preview", **FORM | {"expression": expression}).text
    for expected in texts:
        assert expected in text
    assert ("twice" in text) == bool(texts)


def test_a_schedule_of_the_rest_api_is_changed(console: Console) -> None:
    """The form keeps the message as it was written, and the headers, which it does not show."""
    console.queue("rested")
    new = {
        "name": "rest", "when": "every weekday at 9am", "timezone": "Europe/Berlin",
        "target": {"queue": "rested", "message": {"n": 1.1}, "headers": {"team": "blue"}},
    }  # fmt: skip
    http = console.browser.http
    assert http.post("/v1/schedules", json=new).status_code == 201
    form = typed(console.page("/schedules/rest/change"))
    assert (form["kind"], form["expression"], form["input"]) == ("when", "every weekday at 9am", '{"n":1.1}')
    changes = {"expression": "every weekday at 10am", "input": '{"n": 1e400}', "overlap": "skip", "jitter": "9"}
    changed = console.browser.post("/console/schedules/rest/change", **form | changes)
    assert changed.headers["location"] == "/console/schedules/rest?done=rescheduled"
    text = http.get("/v1/schedules/rest").text
    assert '"n":1e400' in text
    shown = http.get("/v1/schedules/rest").json()
    assert (shown["cron"], shown["overlap"], shown["jitter_secs"]) == ("0 10 * * 1-5", "skip", 9)
    assert shown["target"]["headers"] == {"team": "blue"}
    form = typed(console.page("/schedules/rest/change"))
    for given, field in (
        ({"input": "{"}, "input"), ({"jitter": "86401"}, "jitter"), ({"expression": "evry day"}, "expression"),
        ({"end": "2020-01-01T00:00", "start": "2021-01-01T00:00"}, "end"), ({"target": "a b"}, "target"),
    ):  # fmt: skip
        refused = console.browser.post("/console/schedules/rest/change", **form | given)
        assert refused.status_code == 400
        assert problem(refused.text, field), (field, refused.text)


@pytest.mark.parametrize("api", ["aws", "rest"])
def test_the_page_warns_of_a_target_that_does_not_exist(console: Console, api: str) -> None:
    """The APIs create the schedule, as `penstock schedules put` does. The console can change it meanwhile."""
    name, warning = f"typo-{api}", f"The queue mials-{api} does not exist."
    if api == "aws":
        scheduler: Any = console.service.client("scheduler")
        target = {
            "Arn": f"arn:aws:sqs:us-east-1:000000000000:mials-{api}",
            "RoleArn": "arn:aws:iam::000000000000:role/x",
        }
        scheduler.create_schedule(
            Name=name, ScheduleExpression="rate(1 day)", Target=target, FlexibleTimeWindow={"Mode": "OFF"}
        )
        scheduler.close()
        form = typed(console.page(f"/schedules/{name}/change")) | {"description": "x"}
        assert console.browser.post(f"/console/schedules/{name}/change", **form).status_code == 303
    else:
        new = {"name": name, "cron": "0 3 * * *", "target": {"queue": f"mials-{api}", "message": 1}}
        assert console.browser.http.post("/v1/schedules", json=new).status_code == 201
    assert warning in console.page(f"/schedules/{name}")
    console.queue(f"mials-{api}")
    assert warning not in console.page(f"/schedules/{name}")


def test_a_change_keeps_the_parameters_of_a_bus(console: Console) -> None:
    scheduler: Any = console.service.client("scheduler")
    target = {
        "Arn": f"arn:aws:events:us-east-1:000000000000:event-busv2/orders/{'a' * 25}",
        "RoleArn": "arn:aws:iam::000000000000:role/r",
        "Input": '{"n":1}',
        "EventBridgePutEventsV2Parameters": {"DetailType": "order", "Source": "shop"},
    }
    scheduler.create_schedule(
        Name="onabus", ScheduleExpression="rate(1 hours)", FlexibleTimeWindow={"Mode": "OFF"}, Target=target
    )
    path = "/console/schedules/onabus/change"
    shown = console.browser.get(path).text
    assert '<option value="events" selected>Event bus' in shown
    version = re.findall('name="version" value="([^"]*)"', shown)[0]
    changed = console.browser.post(path, **{**typed(shown), "version": version, "input": '{"n":2}'})
    assert changed.headers["location"] == "/console/schedules/onabus?done=rescheduled"
    found = scheduler.get_schedule(Name="onabus")["Target"]
    assert found.items() >= {**target, "Input": '{"n":2}'}.items()


def test_a_universal_target_is_created(console: Console) -> None:
    scheduler: Any = console.service.client("scheduler")
    text = '{"QueueUrl":"formed","MessageBody":"m"}'
    form = {**FORM, "name": "called", "service": "scheduler", "input": text}
    arn = "arn:aws:scheduler:::aws-sdk:sqs:sendMessage"
    refused = console.browser.post("/console/schedules", **{**form, "target": arn.replace("sendMessage", "purgeQueue")})
    assert "sqs:sendMessage" in problem(refused.text, "target")
    made = console.browser.post("/console/schedules", **{**form, "target": arn})
    assert made.headers["location"] == "/console/schedules/called?done=scheduled"
    assert scheduler.get_schedule(Name="called")["Target"]["Input"] == text


def test_a_schedule_that_its_failures_paused_needs_a_person(console: Console) -> None:
    """The page promises nothing that does not happen: a new queue alone lets no paused schedule fire."""
    new = {"name": "halted", "cron": "0 3 * * *", "target": {"queue": "halted-jobs", "message": 1}}
    assert console.browser.http.post("/v1/schedules", json=new).status_code == 201
    page = " ".join(console.page("/schedules/halted").split())
    assert "Penstock pauses the schedule after 3 failures in a row." in page
    with psycopg.connect(console.database.dsn) as connection:
        connection.execute(
            "update queue.schedule set status = 'paused', consecutive_failures = 3, "
            "last_error = 'Queue ''halted-jobs'' did not exist' where name = 'halted'"
        )
    page = " ".join(console.page("/schedules/halted").split())
    assert "Penstock paused the schedule after 3 failures in a row." in page
    assert 'The queue halted-jobs does not exist. Create the queue, then press "Resume".' in page
    assert "none while the schedule is paused" in page
    told = "The schedule is paused after 3 failures: Queue &#39;halted-jobs&#39; did not exist."
    wait_until(lambda: told in console.page("?show=all"))
    assert ">paused after 3 failures</span>" in console.page("/schedules?q=halted")
    console.queue("halted-jobs")
    page = " ".join(console.page("/schedules/halted").split())
    assert "does not exist" not in page + console.page("?show=all") + console.page("/schedules?q=halted")
    assert 'When the cause is mended, press "Resume".' in page
    console.browser.post("/console/schedules/halted/status", status="active")
    page = console.page("/schedules/halted")
    assert "failures in a row" not in page
    assert "while the schedule is paused" not in page
    wait_until(lambda: told not in console.page("?show=all"))


def test_a_group_is_created_filled_and_deleted(console: Console) -> None:
    browser = console.browser
    assert browser.post("/console/schedule-groups", name="batch").headers["location"].endswith("done=grouped")
    refused = browser.post("/console/schedule-groups", name="batch")
    assert "already exists" in refused.text
    assert "regular expression" in browser.post("/console/schedule-groups", name=HOSTILE).text
    console.queue("formed")
    for group in ("batch", "default"):
        made = browser.post("/console/schedules", **FORM | {"name": "twin", "group": group})
        key = "twin" if group == "default" else "batch%3Atwin"
        assert made.headers["location"] == f"/console/schedules/{key}?done=scheduled"
    assert 'href="/console/schedules/batch%3Atwin"' in console.page("/schedules?group=batch")
    assert 'href="/console/schedules/twin"' not in console.page("/schedules?group=batch")
    assert browser.post("/console/schedules/batch:twin/status", status="paused").status_code == 303
    states = [console.browser.http.get(f"/v1/schedules/{key}").json() for key in ("batch:twin", "twin")]
    assert [(state["status"], state.get("group")) for state in states] == [("paused", "batch"), ("active", None)]
    assert console.audit("scheduler:UpdateSchedule")[2] == f"{SCHEDULES}batch/twin"
    assert browser.post("/console/schedules/batch:twin/run").headers["location"].endswith("done=ran")
    assert "by hand" in console.page("/schedules/batch:twin")
    assert browser.post("/console/schedule-groups/batch/delete", typed="Batch").status_code == 400
    assert browser.post("/console/schedule-groups/batch/delete", typed="batch").status_code == 303
    assert browser.get("/console/schedules/batch:twin").status_code == 404
    assert browser.get("/console/schedules/twin").status_code == 200
    assert browser.post("/console/schedule-groups/default/delete", typed="default").status_code == 400


def test_only_the_own_origin_creates(console: Console) -> None:
    form = {**FORM, "name": "foreign"}
    for path in ("schedules", "schedules-preview", "schedule-groups"):
        assert console.browser.post(f"/console/{path}", origin="https://example.com", **form).status_code == 403
    assert console.browser.get("/console/schedules/foreign").status_code == 404


def test_a_reader_previews_and_changes_nothing(installation: ConsoleInstallation) -> None:
    reader, admin = installation.browser("read"), installation.browser("admin")
    admin.post("/console/queues", name="formed")
    assert admin.post("/console/schedules", **FORM | {"name": "guarded"}).status_code == 303
    for path in ("/console/schedules", "/console/schedules?view=groups", "/console/schedules/guarded"):
        page = reader.get(path).text
        assert not re.search(r"New schedule|New group|Change…|Delete", page), path
        assert re.search(r"New schedule|New group|Change…|Delete", admin.get(path).text), path
    assert reader.get("/console/schedules-new").status_code == 403
    assert reader.get("/console/schedules/guarded/change").status_code == 403
    assert reader.post("/console/schedules-preview", **FORM).status_code == 200
    for path in ("schedules", "schedules/guarded/change", "schedules/guarded/delete", "schedule-groups"):
        assert reader.post(f"/console/{path}", **FORM | {"name": "other"}).status_code == 403
    with psycopg.connect(installation.database.dsn) as connection:
        rows = connection.execute("select name from queue.schedule").fetchall()
    assert rows == [("guarded",)]


def test_a_target_of_another_account_needs_its_permission(installation: ConsoleInstallation) -> None:
    """The refusal is at the field of the target, as for the user's own rights in UpdateSchedule."""
    admin = installation.browser("admin")
    foreign = {"target": "arn:aws:sqs:us-east-1:111122223333:theirs", "name": "foreign"}
    response = admin.post("/console/schedules", **FORM | foreign)
    assert response.status_code == 403
    assert "not authorized to perform: sqs:SendMessage" in problem(response.text, "target")
    dead = {"dead": foreign["target"], "name": "foreign"}
    response = admin.post("/console/schedules", **FORM | dead)
    assert "not authorized to perform: sqs:SendMessage" in problem(response.text, "dead")
    assert ConsoleClient(installation.service).get("/console/schedules-new").status_code == 303
