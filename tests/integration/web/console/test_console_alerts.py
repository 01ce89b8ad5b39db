"""Tests the page of alerts: what an account sees, sets, removes and tests (docs/operate/alerts.md)."""

import json
import re
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.database import TestServer
from tests.support.delivery.receiver import Receiver, running_receiver
from tests.support.programs.penstock_service import running_service
from tests.support.wait import wait_until
from tests.support.web.console import Console, ConsoleClient

pytestmark = pytest.mark.xdist_group("console")

SECRET = "/a-secret-path"
PAGE = "/console/alerts"
FIRING = (
    "insert into queue.alert (account_id, region, subject, name, kind, state, evaluations, since, reported_rank,"
    " reported_number, reported_at) values ('000000000000', %s, %s, %s, %s, %s, 0, clock_timestamp() - interval '3 h',"
    " 1, 7, clock_timestamp() - interval '2 h')"
)

GIVEN_UP = (
    "insert into queue.outgoing_delivery (notice_id, account_id, endpoint, raw, state, due_at, last_error)"
    " select -1, '000000000000', %s, true, 'exhausted', clock_timestamp(), '503' from generate_series(1, %s)"
)

STOPPED = (
    "insert into queue.delivery_endpoint (endpoint_key, account_id, host, next_at, paused_until, paused_at, stopped)"
    " select '000000000000 alert://a.test', '000000000000', '000000000000 alert://a.test', now() + interval '1 h',"
    " now() + interval '1 h', now(), true"
)
AGES = {"pending": "3 h", "exhausted": "4 h"}
UNDELIVERED = (
    "insert into queue.outgoing_delivery (notice_id, account_id, endpoint, raw, created_at, state, attempts, due_at,"
    " last_error) values (-1, '000000000000', 'alert://a.test', true, now() - %s::interval + interval '1 s', %s, 2,"
    " clock_timestamp() + interval '1 h', 'HTTP 503')"
)


@pytest.fixture(scope="module")
def hook() -> Iterator[Receiver]:
    with running_receiver() as receiver:
        receiver.responses[SECRET] = receiver.responses["/200"]
        yield receiver


@pytest.fixture(scope="module")
def alerting(postgres: TestServer) -> Iterator[Console]:
    """A console in front of a service that sends alerts but seldom evaluates, so the rows of a test stay."""
    with postgres.database() as database, running_service(
        database.api_dsn, QUEUE_CONSOLE="full", QUEUE_ALERT_INTERVAL_MS="600000", WEBHOOK_ALLOW_CIDRS="127.0.0.0/8",
        QUEUE_HTTP_DELIVERY_POLL_MS="20",
    ) as service:  # fmt: skip
        sqs = service.sqs()
        yield Console(database, service, ConsoleClient(service), sqs)
        sqs.close()


def test_an_address_is_set_shown_without_secrets_tested_and_removed(alerting: Console, hook: Receiver) -> None:
    assert "nowhere" in alerting.page("/alerts")
    assert "Send a test" not in alerting.page("/alerts")
    done = alerting.browser.post(PAGE, url=f" slack+{hook.url(SECRET)} ")
    assert done.headers["location"] == f"{PAGE}?done=alerts_set"
    text = alerting.page("/alerts?done=alerts_set")
    assert f"<code>slack+http://127.0.0.1:{hook.port}/****</code>" in text
    sent = alerting.browser.post(f"{PAGE}/test").headers["location"]
    assert sent.startswith("/console/deliveries?view=attempts&endpoint=alert")
    wait_until(lambda: "responded to the test event with 200" in alerting.browser.get(sent).text)
    assert SECRET not in text + alerting.browser.get(sent).text
    assert alerting.browser.post(f"{PAGE}/clear").headers["location"] == f"{PAGE}?done=alerts_cleared"
    assert "nowhere" in alerting.page("/alerts")
    assert alerting.audit("penstock:SetAlerts")[5] == "console"


@pytest.mark.parametrize("url", ["", "ftp://a.test/", "https://u:p@a.test/<b>\"'", "https://events.pagerduty.com/v2/x"])
def test_a_wrong_address_stays_in_the_form_with_its_fault(alerting: Console, url: str) -> None:
    response = alerting.browser.post(PAGE, url=url)
    assert response.status_code == 400
    assert 'aria-invalid="true" aria-describedby="problem-url"' in response.text
    assert url.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&#34;").replace("'", "&#39;") in response.text


def test_a_test_without_an_address_says_so(alerting: Console) -> None:
    response = alerting.browser.post(f"{PAGE}/test")
    assert response.status_code == 404
    assert "The account has no address for alerts." in response.text


def test_problems_are_listed_without_an_address(alerting: Console) -> None:
    assert "Penstock reports these problems nowhere" not in alerting.page("/alerts")
    with psycopg.connect(alerting.database.dsn) as db:
        db.execute(GIVEN_UP, ("https://untold.test/", 2))
        db.commit()
        wait_until(lambda: "Penstock reports these problems nowhere" in alerting.page("/alerts"))
        assert (
            [row[0] for row in read_alerts(alerting)]
            == ["https://untold.test/"]
            == [name for name, _ in read_overview(alerting)]
        )
        assert "<small>no address</small>" in alerting.page("/alerts")
        db.execute("delete from queue.outgoing_delivery")


def test_a_problem_that_no_alert_has_told_shows_when_one_will(alerting: Console, hook: Receiver) -> None:
    """The service evaluates every 10 minutes, and an alert follows the second evaluation."""
    alerting.browser.post(PAGE, url=hook.url(SECRET))
    with psycopg.connect(alerting.database.dsn) as db:
        db.execute(GIVEN_UP, ("https://new.test/", 2))
        db.execute("update queue.alert_round set started_at = clock_timestamp(), ended_at = clock_timestamp()")
        db.commit()
        wait_until(lambda: "https://new.test/" in alerting.page("/alerts"))
        (wait,) = re.findall(r'data-label="Reported"><small>(.*?)</small>', alerting.page("/alerts"), re.DOTALL)
        assert re.fullmatch(r"in (9|10|19|20) min.*", wait)
        db.execute("delete from queue.outgoing_delivery")
    alerting.browser.post(f"{PAGE}/clear")


def test_a_muted_resource_stays_on_the_overview(alerting: Console) -> None:
    with psycopg.connect(alerting.database.dsn) as db:
        db.execute(GIVEN_UP, ("https://muted.test/", 2))
        db.commit()
        wait_until(lambda: "https://muted.test/" in alerting.page("/alerts"))
        form = {"resource": "endpoint", "name": "https://muted.test/"}
        fields = 'name="resource" value="endpoint"><input type="hidden" name="name" value="https://muted.test/"'
        assert fields in alerting.page("/alerts")
        done = alerting.browser.post(f"{PAGE}/mute", **form, hours="1")
        assert done.headers["location"] == f"{PAGE}?done=muted"
        assert alerting.audit("penstock:MuteAlerts")[2:4] == ("endpoint https://muted.test/", {"hours": 1})
        for path in ("", "/alerts"):
            assert re.search(r"muted until \d\d:\d\d UTC", alerting.page(path))
        assert alerting.browser.post(f"{PAGE}/mute", **form, hours="2").status_code == 400
        assert alerting.browser.post(f"{PAGE}/mute", **form, hours="0").status_code == 303
        assert "muted until" not in alerting.page("") + alerting.page("/alerts")
        db.execute("delete from queue.outgoing_delivery")


def test_a_reported_problem_shows_whether_its_alert_arrived(alerting: Console) -> None:
    with psycopg.connect(alerting.database.dsn) as db:
        for name, state in (("https://told.test/", "pending"), ("https://lost.test/", "exhausted")):
            db.execute(FIRING, ("", "given_up", name, "given_up", "firing"))
            db.execute("update queue.alert set reported_at = now() - %s::interval where name = %s", (AGES[state], name))
            db.execute(UNDELIVERED, (AGES[state], state))
        db.execute(FIRING, ("", "given_up", "https://fine.test/", "given_up", "firing"))
        db.execute(FIRING, ("", "given_up", "https://held.test/", "given_up", "firing"))
        db.execute("update queue.alert set reported_at = now() - interval '5 h' where name = 'https://held.test/'")
        db.execute(UNDELIVERED, ("5 h", "pending"))
        db.execute("update queue.outgoing_delivery set waiting = true, waits_for = account_id || ' ' || endpoint"
                   " where created_at < now() - interval '4.5 h'")  # fmt: skip
        db.execute(STOPPED)
        db.commit()
        wait_until(lambda: "fine.test" in alerting.page("/alerts"))
        rows = dict(re.findall(r'data-row="\w+ https://(\w+).*?data-label="Reported">(.*?)</td>',
                               alerting.page("/alerts"), re.DOTALL))  # fmt: skip
        texts = {name: " ".join(re.sub(r"<[^>]*>", " ", text).split()) for name, text in rows.items()}
        assert re.fullmatch(r"3 h ago not delivered HTTP 503; next attempt in .*", texts["told"])
        assert texts["lost"] == "4 h ago not delivered HTTP 503; given up after 2 attempts"
        assert texts["held"] == "5 h ago not delivered HTTP 503; a user paused the endpoint"
        assert texts["fine"] == "2 h ago delivered"
        db.execute("delete from queue.outgoing_delivery")
        db.execute("delete from queue.alert")
        db.execute("delete from queue.delivery_endpoint")


def test_reported_problems_have_the_numbers_the_order_and_the_colours_of_what_needs_attention(
    alerting: Console,
) -> None:
    """Each number that was told is old, the end of one problem is not told yet, and another came back."""
    alerting.queue("dead")
    arn = "arn:aws:sqs:us-east-1:000000000000:dead"
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    url = alerting.queue("source", RedrivePolicy=policy)
    dead = url.replace("source", "dead")
    for _ in range(3):
        alerting.sqs.send_message(QueueUrl=dead, MessageBody="x")
    hook, back, over = "https://a.test/", "https://back.test/", "https://over.test/"
    rows = [
        ("us-east-1", "dead_letters", "dead", "dead_letters", "firing"), ("", "given_up", hook, "given_up", "firing"),
        ("eu-west-1", "verdict", "elsewhere", "poisoned", "firing"), ("", "given_up", back, "given_up", "ended"),
        ("", "endpoint_fails", over, "endpoint_fails", "firing"), ("us-east-1", "verdict", "old", "stalled", "ended"),
    ]  # fmt: skip
    with psycopg.connect(alerting.database.dsn) as db:
        for row in rows:
            db.execute(FIRING, row)
        db.execute("update queue.alert set reported_at = now() where name = %s", (back,))
        for endpoint, number in ((hook, 9), (back, 1)):
            db.execute(GIVEN_UP, (endpoint, number))
    wait_until(lambda: "3 dead letters" in alerting.page(""))
    wait_until(lambda: read_overview(alerting) == [row[:2] for row in read_alerts(alerting) if row[1] != "info"])
    found = read_alerts(alerting)
    assert {(name, number) for name, _, _, number in found} == {
        (hook, "9"), (back, "1"), ("dead", "3"), ("elsewhere", "0"), (over, "0"),
    }  # fmt: skip
    assert {name: level for name, level, _, _ in found if name != "dead"} == {
        hook: "bad", back: "bad", "elsewhere": "info", over: "info",
    }  # fmt: skip
    notes = {name: note for name, _, note, _ in found}
    assert re.search(r"held until \d\d:\d\d", notes[back])
    assert "held" not in notes[hook] + notes["dead"]
    assert "does not show now" in " ".join(notes[over].split())
    text = alerting.page("/alerts")
    assert '<a class="name" href="/console/queues/dead/failures">dead</a>' in text
    assert "/console/queues/elsewhere" not in text
    assert "2 h ago" in text


def read_alerts(console: Console) -> list[tuple[str, ...]]:
    """Returns the name, level, note and number of each row."""
    row = r'data-row="\w+ ([^ ]+) .*?badge (\w+)">.*?</span>(.*?)</td>.*?data-label="Number">(\d+)'
    return re.findall(row, console.page("/alerts"), re.DOTALL)


def read_overview(console: Console) -> list[tuple[str, ...]]:
    """Returns the name and the level of each row."""
    page = console.page("?show=all")
    rows = re.findall(r'<li class="(\w+)" data-row>.*?class="name" [^>]*>([^<]*)<', page, re.DOTALL)
    return [(name, level) for level, name in rows]


def test_the_page_says_how_alerts_get_links(alerting: Console) -> None:
    assert "QUEUE_BASE_URL" in alerting.page("/alerts")
