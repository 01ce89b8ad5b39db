"""Tests the page of alerts: what an account sees, sets, removes and tests (docs/operate/alerts.md)."""

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


def test_reported_problems_say_since_when_and_when_they_were_reported(alerting: Console) -> None:
    rows = [
        ("us-east-1", "verdict", "<orders>", "stalled", "firing"), ("us-east-1", "dead_letters", "dead",
        "dead_letters", "firing"), ("eu-west-1", "verdict", "elsewhere", "poisoned", "firing"),
        ("", "given_up", "https://a.test/", "given_up", "firing"), ("us-east-1", "verdict", "over", "stalled", "ended"),
    ]  # fmt: skip
    with psycopg.connect(alerting.database.dsn) as db:
        for row in rows:
            db.execute(FIRING, row)
    wait_until(lambda: "elsewhere" in alerting.page("/alerts"))
    text = alerting.page("/alerts")
    assert text.count("data-row") == 4
    assert '<a class="name" href="/console/queues/%3Corders%3E">&lt;orders&gt;</a>' in text
    assert 'href="/console/queues/dead/failures"' in text
    assert 'href="/console/deliveries?view=given-up"' in text
    assert "/console/queues/elsewhere" not in text
    assert "3 h ago" in text
    assert "2 h ago" in text


def test_the_page_says_how_alerts_get_links(alerting: Console) -> None:
    assert "QUEUE_BASE_URL" in alerting.page("/alerts")
