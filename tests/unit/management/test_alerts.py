"""Tests which problems alerts tell, and the messages for each service, without a database. docs/operate/alerts.md."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.delivery.delivery import Delivery
from penstock.delivery.http.alert import address_alert
from penstock.endpoint import EndpointInvalid, parse_endpoint
from penstock.management.alerts.evaluation import find_outage
from penstock.management.alerts.messages import Recipient, find_dedup_key, write_messages
from penstock.management.alerts.state import (
    Change,
    Place,
    Rules,
    decide,
    find_held_until,
    list_included,
    list_places,
)
from penstock.management.attention.concerns import Concern, describe_endpoint, describe_late_work
from penstock.management.attention.reading import describe_queue
from penstock.postgres.statements.alerts import AlertRow, BegunRow
from penstock.postgres.statements.deliveries import FailedEndpointRow
from penstock.postgres.statements.metrics import LateWorkRow
from penstock.settings import Settings
from penstock.settings.alert_url import parse_alert_url
from penstock.verdicts import Facts, Minute, judge
from tests.support.alerts import build_concern

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
ACCOUNT = "000000000000"
SETTINGS = Settings.read({"QUEUE_BASE_URL": "https://queues.example.com", "QUEUE_CONSOLE": "read"})


class Told:
    """Evaluates concerns one after the other, a minute apart, and returns what each evaluation tells."""

    def __init__(self, evaluations: int = 2, pause_minutes: int = 10) -> None:
        self.rules = Rules(evaluations, timedelta(minutes=pause_minutes))
        self.rows: dict[Place, AlertRow] = {}
        self.now = NOW
        self.changes: list[Change] = []

    def __call__(self, *concerns: Concern) -> list[tuple[str, str]]:
        found = dict(list_places(ACCOUNT, "us-east-1", list(concerns)))
        included = set(list_included(ACCOUNT, "us-east-1", list(concerns)))
        decision = decide(self.rows, found, self.now, self.rules, included)
        self.rows |= {Place(*row[:4]): row for row in decision.changed}
        for place in decision.gone:
            del self.rows[place]
        self.now += timedelta(minutes=1)
        self.changes = decision.changes
        return [(change.what, change.kind) for change in decision.changes]


# --- which changes are told ------------------------------------------------------------------------------------------
def test_a_problem_is_told_once_and_its_end_once() -> None:
    told, stalled = Told(), build_concern("stalled", "orders")
    assert [told(stalled) for _ in range(4)] == [[], [("began", "stalled")], [], []]
    assert [told() for _ in range(3)] == [[], [("ended", "stalled")], []]


def test_one_evaluation_is_not_enough_to_begin_or_to_end() -> None:
    told, stalled = Told(), build_concern("stalled", "orders")
    assert [told(stalled), told(), told(stalled), told()] == [[], [], [], []]
    assert told.rows == {}
    told(stalled)
    assert told(stalled) == [("began", "stalled")]
    assert [told(), told(stalled), told(), told(stalled)] == [[], [], [], []]


def test_a_problem_that_comes_back_waits_for_the_pause() -> None:
    told, stalled = Told(evaluations=1, pause_minutes=10), build_concern("stalled", "orders")
    assert [told(stalled), told()] == [[("began", "stalled")], [("ended", "stalled")]]
    flapping = [told(*[stalled] * (minute % 2)) for minute in range(8)]
    assert flapping == [[]] * 8
    assert [told(stalled), told(stalled), told(stalled)] == [[("began", "stalled")], [], []]


def test_the_pause_begins_with_the_alert_and_not_with_its_end() -> None:
    """New dead letters that arrive soon after the end of old ones are told, because the last alert is long ago."""
    told = Told(evaluations=2, pause_minutes=10)
    old, new = (build_concern("dead_letters", "dead", number=number) for number in (1, 320))
    assert [told(old) for _ in range(9)][1] == [("began", "dead_letters")]
    assert [told(), told()] == [[], [("ended", "dead_letters")]]
    assert [told(new), told(new)] == [[], [("began", "dead_letters")]]
    assert told.changes[0].number == 320


def test_a_problem_in_the_pause_is_held_until_a_time_that_the_page_shows() -> None:
    told, letters = Told(evaluations=1, pause_minutes=10), build_concern("dead_letters", "dead", number=3)
    began = told.now
    assert [told(letters), told(), told(letters)] == [[("began", "dead_letters")], [("ended", "dead_letters")], []]
    (row,) = told.rows.values()
    assert find_held_until(row, letters, told.now, told.rules) == began + timedelta(minutes=10)
    told.now = began + timedelta(minutes=10)
    assert find_held_until(row, letters, told.now, told.rules) is None
    assert told(letters) == [("began", "dead_letters")]


def test_letters_that_come_after_some_were_sent_back_are_new() -> None:
    """320 are told, 300 are sent back, and 250 come. The number is smaller than the one that was told."""
    told = Told(evaluations=1, pause_minutes=0)
    found = [told(build_concern("dead_letters", "dead", number=number)) for number in (320, 20, 270, 270)]
    assert found == [[("began", "dead_letters")], [], [("grew", "dead_letters")], []]
    told(build_concern("dead_letters", "dead", number=271))
    assert (told.changes[0].number, told.changes[0].new) == (271, 1)
    (message,) = write_messages(Recipient(ACCOUNT, mail="oncall@example.com"), told.changes, SETTINGS)
    assert "More: dead: dead letters, 1 new." in json.loads(message.body)["text"]


def test_late_schedules_are_one_problem_whichever_is_the_first() -> None:
    """Both messages name the first schedule and link to it. The name that identifies the problem stays."""
    told = Told(evaluations=1)
    first, second = (describe_late_work(LateWorkRow("schedules_late", name, 1, NOW, None, None)) for name in "ab")
    texts = []
    for concerns in ([first], [second], []):
        if told(*concerns):
            (message,) = write_messages(Recipient(ACCOUNT, mail="oncall@example.com"), told.changes, SETTINGS)
            texts.append(json.loads(message.body)["text"].splitlines()[1])
    assert [text.partition(":")[0] for text in texts] == ["- a", "- Ended"]
    assert texts[1].startswith("- Ended: a: late, after")
    assert all(text.endswith(" https://queues.example.com/console/schedules/a") for text in texts)
    told(first)
    assert {place.name for place in told.rows} == {"Schedules"}


def test_late_deliveries_are_told_even_if_an_alert_is_the_first() -> None:
    late = describe_late_work(LateWorkRow("deliveries_late", "alert://a.test", 2, NOW, None, None))
    assert Told(evaluations=1)(late) == [("began", "deliveries_late")]


# --- endpoints -------------------------------------------------------------------------------------------------------
HOOK = "http://127.0.0.1:9/"


def endpoint(given_up: int = 0, *, again: int = 0, fails: bool = True, retried: int = 0, old: bool = False,
             stopped: bool = False) -> list[Concern]:  # fmt: skip
    """Returns the concerns about an endpoint. `old` given-up deliveries are from before the failure."""
    since = NOW - timedelta(minutes=5)
    row = FailedEndpointRow(
        HOOK, given_up, NOW if given_up or again else None, "refused", NOW if stopped else None, stopped,
        since if retried else None, retried, "refused", 0, again,
        None if not given_up else since - timedelta(hours=1) if old else NOW, since if fails else None,
    )  # fmt: skip
    return list(describe_endpoint(row))


def test_a_failure_does_not_end_when_its_deliveries_are_given_up_or_tried_again() -> None:
    told = Told()
    assert [told(*endpoint(retried=2)) for _ in range(2)][1] == [("began", "endpoint_fails")]
    assert [told(*endpoint(2)) for _ in range(3)] == [[], [("began", "given_up")], []]
    assert [told(*endpoint(again=2, retried=2)) for _ in range(3)] == [[]] * 3
    assert [told(*endpoint(1, again=1, retried=1)) for _ in range(3)] == [[]] * 3
    assert [told(*endpoint(2)) for _ in range(3)] == [[]] * 3
    assert [told() for _ in range(2)][1] == [("ended", "endpoint_fails"), ("ended", "given_up")]


def test_a_retry_whose_result_is_not_known_ends_nothing() -> None:
    """The endpoint has no failure that is old enough, so only the retry shows that nothing is mended."""
    told = Told()
    assert [told(*endpoint(2, fails=False)) for _ in range(2)][1] == [("began", "given_up")]
    assert [told(*endpoint(again=2, fails=False)) for _ in range(4)] == [[]] * 4
    assert [told(*endpoint(2, fails=False)) for _ in range(2)] == [[]] * 2
    assert [told() for _ in range(2)][1] == [("ended", "given_up")]


def test_an_endpoint_that_responds_again_ends_its_failure_while_old_deliveries_stay_given_up() -> None:
    told = Told(evaluations=1)
    assert told(*endpoint(retried=1)) == [("began", "endpoint_fails")]
    assert told(*endpoint(1)) == [("began", "given_up")]
    assert told(*endpoint(1, fails=False)) == [("ended", "endpoint_fails")]


def test_a_new_failure_is_told_beside_old_given_up_deliveries() -> None:
    told = Told(evaluations=1)
    assert told(*endpoint(1, fails=False)) == [("began", "given_up")]
    assert told(*endpoint(1, retried=4, old=True)) == [("began", "endpoint_fails")]


def test_an_endpoint_that_a_user_pauses_has_not_recovered() -> None:
    told = Told(evaluations=1)
    assert told(*endpoint(retried=1)) == [("began", "endpoint_fails")]
    assert [told(*endpoint(stopped=True)) for _ in range(3)] == [[]] * 3
    assert told() == [("ended", "endpoint_fails")]


def test_one_failure_of_an_endpoint_has_one_row() -> None:
    (row,) = endpoint(2, again=1, retried=1)
    assert (row.kind, row.number) == ("given_up", 3)
    assert row.text == (
        "2 deliveries were given up: refused. 1 given-up delivery is tried again. The endpoint still fails."
    )
    assert [(one.kind, one.name) for one in row.includes] == [("endpoint_fails", HOOK)]


@pytest.mark.parametrize(
    ("number", "said"),
    [(1, "The confirmation of a subscription to the topic news was given up"),
     (3, "3 deliveries were given up, the newest of them the confirmation of a subscription to the topic news")],
)  # fmt: skip
def test_a_given_up_confirmation_names_its_topic(number: int, said: str) -> None:
    topic = "arn:aws:sns:us-east-1:000000000000:news"
    row = FailedEndpointRow(HOOK, number, NOW, "refused", None, stopped=False, confirms=topic)
    assert [one.text for one in describe_endpoint(row)] == [f"{said}: refused."]


def test_a_mapping_that_the_service_stops_has_not_recovered() -> None:
    told = Told(evaluations=1)
    rows = [LateWorkRow(kind, "f", 3, NOW, "error", "7", "q") for kind in ("mapping_fails", "mapping_stopped")]
    fails, stopped = map(describe_late_work, rows)
    assert [told(fails), told(stopped), told()] == [
        [("began", "mapping_fails")], [("began", "mapping_stopped")],
        [("ended", "mapping_fails"), ("ended", "mapping_stopped")],
    ]  # fmt: skip


def test_a_failing_schedule_that_is_paused_has_not_recovered() -> None:
    told = Told(evaluations=1)
    kinds = ("schedule_fails", "schedule_paused")
    fails, paused = (describe_late_work(LateWorkRow(kind, "nightly", 3, NOW, "error")) for kind in kinds)
    assert [told(fails), told(paused), told(paused), told()] == [
        [("began", "schedule_fails")], [("began", "schedule_paused")], [],
        [("ended", "schedule_fails"), ("ended", "schedule_paused")],
    ]  # fmt: skip


def test_a_problem_that_stays_away_is_forgotten_after_the_pause() -> None:
    told = Told(evaluations=1, pause_minutes=3)
    told(build_concern("stalled", "orders"))
    for _ in range(5):
        told()
    assert told.rows == {}


def test_a_worse_verdict_is_told_and_a_better_one_is_not() -> None:
    told = Told(evaluations=1)
    kinds = ("falling_behind", "stalled", "falling_behind", "stalled")
    assert [told(build_concern(kind, "orders")) for kind in kinds] == [
        [("began", "falling_behind")], [("worse", "stalled")], [], [],
    ]  # fmt: skip
    assert told() == [("ended", "stalled")]


def test_more_dead_letters_are_told_again_after_the_pause() -> None:
    told = Told(evaluations=1, pause_minutes=3)
    numbers = (5, 6, 5, 7, 7, 7, 7, 8)
    found = [told(build_concern("dead_letters", "dead", number=number)) for number in numbers]
    more, none = [("grew", "dead_letters")], list[tuple[str, str]]()
    assert found == [[("began", "dead_letters")], none, none, more, none, none, none, more]


def test_a_backlog_that_grows_is_not_told_again() -> None:
    told = Told(evaluations=1, pause_minutes=0)
    told(build_concern("stalled", "orders", number=1))
    assert told(build_concern("stalled", "orders", number=1_000)) == []


def test_dead_letters_and_the_verdict_on_their_queue_are_two_problems() -> None:
    told = Told(evaluations=1)
    found = told(build_concern("stalled", "dead"), build_concern("dead_letters", "dead"))
    assert sorted(found) == [("began", "dead_letters"), ("began", "stalled")]


def test_a_pause_that_a_user_made_is_not_told() -> None:
    assert Told(evaluations=1)(build_concern("endpoint_paused", "https://a.test/", level="info")) == []


@pytest.mark.parametrize("endpoint", ["alert://hooks.slack.com", "smtp://mail/alert"])
@pytest.mark.parametrize("kind", ["given_up", "endpoint_paused", "endpoint_fails"])
def test_an_address_of_alerts_that_fails_sends_no_alert(kind: str, endpoint: str) -> None:
    assert Told(evaluations=1)(build_concern(kind, endpoint)) == []


def test_a_concern_of_an_account_has_one_alert_for_all_regions() -> None:
    concerns = [build_concern("given_up", "https://a.test/"), build_concern("old_transaction", "Database"),
                build_concern("stalled", "q")]  # fmt: skip
    places = {place for region in ("eu-1", "us-1") for place, _ in list_places(ACCOUNT, region, concerns)}
    assert {place[:2] for place in places} == {(ACCOUNT, ""), ("", ""), (ACCOUNT, "eu-1"), (ACCOUNT, "us-1")}
    assert len(places) == 4


@pytest.mark.parametrize(
    ("seconds", "is_told"), [(89, False), (91, True), (86_399, True), (86_401, False), (-10, False)]
)
def test_an_outage_is_told_if_evaluations_were_missing(seconds: int, is_told: bool) -> None:
    """Three intervals of 30 s are missing. After a day, the news comes too late."""
    last = NOW - timedelta(seconds=seconds)
    found = list(find_outage(BegunRow(True, 2, NOW, last), 30_000))
    assert [(change.since, change.until) for change in found] == [(last, NOW)] * is_told
    assert list(find_outage(BegunRow(True, 1, NOW, None), 30_000)) == []


# --- addresses -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "kind", "url", "shown"),
    [
        ("https://hooks.slack.com/services/T/B/x", "slack", "https://hooks.slack.com/services/T/B/x",
         "slack+https://hooks.slack.com/****"),
        ("slack+http://chat.test:8065/hooks/x", "slack", "http://chat.test:8065/hooks/x",
         "slack+http://chat.test:8065/****"),
        ("https://prod-1.westeurope.logic.azure.com:443/workflows/a?sig=b%2Fc", "teams",
         "https://prod-1.westeurope.logic.azure.com:443/workflows/a?sig=b%2Fc",
         "teams+https://prod-1.westeurope.logic.azure.com:443/****"),
        ("https://a.environment.api.powerplatform.com/x", "teams", "https://a.environment.api.powerplatform.com/x",
         "teams+https://a.environment.api.powerplatform.com/****"),
        ("https://events.eu.pagerduty.com/v2/enqueue?routing_key=KEY", "pagerduty",
         "https://events.eu.pagerduty.com/v2/enqueue", "pagerduty+https://events.eu.pagerduty.com/****"),
        ("json+https://hooks.slack.com/x", "json", "https://hooks.slack.com/x", "json+https://hooks.slack.com/****"),
        ("https://a.test/?x=slack+y", "json", "https://a.test/?x=slack+y", "json+https://a.test/****"),
        ("https://hooks.slack.com.evil.test/x", "json", "https://hooks.slack.com.evil.test/x",
         "json+https://hooks.slack.com.evil.test/****"),
        ("https://HOOKS.slack.com/x", "slack", "https://HOOKS.slack.com/x", "slack+https://HOOKS.slack.com/****"),
    ],
)  # fmt: skip
def test_the_url_tells_the_format(text: str, kind: str, url: str, shown: str) -> None:
    found = parse_alert_url(text)
    assert (found.format, found.url, found.shown) == (kind, url, shown)
    parse_endpoint(found.url)  # raises EndpointInvalid


@pytest.mark.parametrize(
    "text",
    [
        "", "slack", "ftp://a.test/", "discord+https://a.test/", "slack+slack+https://a.test/", "https://",
        "https://user:password@a.test/", "https://a.test/\r\nHost: b", "https://a.test/ä", "https://a.test:0/",
        "https://events.pagerduty.com/v2/enqueue", "https://events.pagerduty.com/v2/enqueue?routing_key=",
        'https://events.pagerduty.com/v2/enqueue?routing_key="', f"https://a.test/{'x' * 2_048}", "https://a.test\\@b/",
    ],
)  # fmt: skip
def test_an_unusable_url_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"URL|port") as error:
        parse_alert_url(text)
    assert "password" not in str(error.value)


# --- messages --------------------------------------------------------------------------------------------------------
HOSTILE = "<!channel> *b* & [x](javascript:1)"
CHANGES = [
    Change(what="began", account_id=ACCOUNT, region="us-east-1", subject="verdict", name="orders", kind="stalled",
           level="bad", since=NOW, number=7, text="No consumer receives.", page="/console/queues/orders"),
    Change(what="ended", account_id="111122223333", region="eu-1", subject="given_up", name=HOSTILE, kind="given_up",
           since=NOW - timedelta(minutes=12), until=NOW),
]  # fmt: skip


def bodies(url: str, changes: list[Change]) -> list[Any]:
    recipient = Recipient(ACCOUNT, address=parse_alert_url(url))
    messages = list(write_messages(recipient, changes, SETTINGS))
    assert {(m.account_id, m.target, m.kind) for m in messages} == {(ACCOUNT, "", "alert")}
    assert all("secret" not in m.endpoint for m in messages)
    return [json.loads(m.body) for m in messages]


def test_json_has_every_change_and_a_text() -> None:
    (body,) = bodies("https://a.test/secret", CHANGES)
    assert body["type"] == "penstock.alerts"
    assert [(c["what"], c["kind"], c["name"], c["account_id"], c["region"]) for c in body["changes"]] == [
        ("began", "stalled", "orders", ACCOUNT, "us-east-1"), ("ended", "given_up", HOSTILE, "111122223333", "eu-1"),
    ]  # fmt: skip
    assert body["changes"][0]["url"] == "https://queues.example.com/console/queues/orders"
    assert body["text"].split("\n")[:2] == [
        "Penstock: 1 problem, 1 ended",
        (
            "- orders: stalled, 7 messages. No consumer receives. Since 2030-01-01 12:00:00 UTC. "
            "https://queues.example.com/console/queues/orders"
        ),
    ]
    assert "Ended: 111122223333 eu-1 <!channel>" in body["text"]
    assert "after 12 minutes." in body["text"]


def test_the_example_of_the_documentation_is_what_arrives() -> None:
    page = (Path(__file__).parents[3] / "docs/operate/alerts.md").read_text()
    (example,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    since = datetime(2030, 1, 31, 9, tzinfo=UTC)
    minutes = [Minute(since - timedelta(minutes=1), received=1, deleted=1, visible=0, in_flight=0),
               Minute(since, sent=200, visible=200, in_flight=0, oldest_at=since)]  # fmt: skip
    verdict = judge(minutes, Facts(), since + timedelta(minutes=5))
    facts = SimpleNamespace(dead_letters=False, failing_since=None)
    queue: Any = SimpleNamespace(row=SimpleNamespace(name="orders"), seen=SimpleNamespace(verdict=verdict, facts=facts))
    rows = dict(list_places(ACCOUNT, "eu-central-1", list(describe_queue(queue))))
    changes = decide({}, rows, NOW, Rules(1, timedelta(0))).changes
    (message,) = write_messages(Recipient(ACCOUNT, address=parse_alert_url("https://a.test/")), changes,
                                SETTINGS.replace(queue_region="eu-central-1"))  # fmt: skip
    assert json.loads(message.body) == json.loads(example)


def test_slack_gets_one_text_without_control_characters() -> None:
    """Formatting text for app surfaces: &, < and > are escaped, and `<!channel>` would notify everybody."""
    (body,) = bodies("https://hooks.slack.com/secret", CHANGES)
    assert body.keys() == {"text"}
    assert "<!channel>" not in body["text"]
    assert "&lt;!channel&gt; *b* &amp;" in body["text"]
    assert "<https://queues.example.com/console/queues/orders|Open>" in body["text"]


def test_teams_gets_an_adaptive_card() -> None:
    (body,) = bodies("teams+https://a.test/secret", CHANGES)
    (attachment,) = body["attachments"]
    assert (body["type"], attachment["contentType"]) == ("message", "application/vnd.microsoft.card.adaptive")
    title, first, second = (block["text"] for block in attachment["content"]["body"])
    assert title == "Penstock: 1 problem, 1 ended"
    assert first.endswith("[Open](https://queues.example.com/console/queues/orders)")
    assert "\\*b\\*" in second
    assert "[x](javascript" not in second


def test_pagerduty_gets_an_event_for_each_problem() -> None:
    """Events API v2: the events of one problem have the same `dedup_key`, and the key is only added when it is sent."""
    trigger, resolve = bodies("https://events.pagerduty.com/v2/enqueue?routing_key=secret", CHANGES)
    assert (trigger["event_action"], resolve["event_action"]) == ("trigger", "resolve")
    assert trigger["payload"]["severity"] == "critical"
    assert trigger["payload"]["summary"].startswith("orders: stalled")
    assert trigger["payload"]["source"] == "orders"
    assert resolve.keys() == {"routing_key", "event_action", "dedup_key"}
    assert "secret" not in json.dumps([trigger, resolve])


def test_a_verdict_that_becomes_worse_updates_the_same_incident() -> None:
    worse = Change(what="worse", account_id=ACCOUNT, region="us-east-1", subject="verdict", name="orders", kind="x")
    assert find_dedup_key(worse) == find_dedup_key(CHANGES[0])
    assert find_dedup_key(CHANGES[1]) != find_dedup_key(CHANGES[0])


def test_a_mail_has_a_subject_and_lines() -> None:
    (message,) = write_messages(Recipient(ACCOUNT, mail="oncall@example.com"), CHANGES, SETTINGS)
    body = json.loads(message.body)
    assert (message.kind, message.endpoint, message.target) == ("mail", "smtp://mail/alert", None)
    assert (body["destination"], body["subject"]) == ("oncall@example.com", "Penstock: 1 problem, 1 ended")
    assert len(body["text"].split("\n")) == 3


@pytest.mark.parametrize(
    "reason", ["5 dead letters; 2 arrived", "It fails.", "x" * 900, "Does it?", "x" * 299 + ". yes"]
)
def test_a_reason_ends_before_the_next_sentence_begins(reason: str) -> None:
    """A reason can contain the words of an endpoint or a function, which are long or end without a full stop."""
    change = Change(what="began", account_id=ACCOUNT, name="orders", kind="stalled", text=reason, since=NOW)
    (message,) = write_messages(Recipient(ACCOUNT, mail="oncall@example.com"), [change], SETTINGS)
    text = json.loads(message.body)["text"]
    assert re.search("[.!?…] Since 2030-01-01 12:00:00 UTC", text)
    assert len(text) < 500


def test_many_changes_make_one_message_of_limited_length() -> None:
    many = [CHANGES[0]] * 500
    for url in ("https://hooks.slack.com/x", "teams+https://a.test/x"):
        (body,) = bodies(url, many)
        assert len(json.dumps(body)) < 28_000
        assert "480 more" in json.dumps(body)


LOCAL = {"QUEUE_ADDRESS": "127.0.0.1:4000", "QUEUE_CONSOLE": "full"}


@pytest.mark.parametrize(
    ("variables", "link"),
    [({}, ""), ({"QUEUE_BASE_URL": "https://queues.example.com", "QUEUE_CONSOLE": "off"}, ""),
     (LOCAL, "<http://127.0.0.1:4000/console/queues/orders|Open>"), ({**LOCAL, "QUEUE_CONSOLE": "off"}, ""),
     ({**LOCAL, "QUEUE_ADDRESS": "0.0.0.0:4000"}, ""), ({**LOCAL, "QUEUE_ALLOWED_HOSTS": "queues.example.com"}, "")],
)  # fmt: skip
def test_links_have_the_base_url_or_the_address_of_a_local_service(variables: dict[str, str], link: str) -> None:
    recipient = Recipient(ACCOUNT, address=parse_alert_url("https://hooks.slack.com/x"))
    (message,) = write_messages(recipient, CHANGES, Settings.read(variables))
    assert ("Open" in message.body, link in message.body) == (bool(link), True)


# --- sending ---------------------------------------------------------------------------------------------------------
def delivery(body: str, url: str | None) -> Delivery:
    return Delivery(1, ACCOUNT, "k", "alert://a.test", "alert", None, None, None, True, None, 0, body, url)  # type: ignore[arg-type]


def test_the_worker_adds_the_key_when_it_sends() -> None:
    url = "https://events.pagerduty.com/v2/enqueue?routing_key=0123456789abcdef0123456789abcdef"
    recipient = Recipient(ACCOUNT, address=parse_alert_url(url))
    (message,) = write_messages(recipient, CHANGES[:1], SETTINGS)
    sent, target = address_alert(delivery(message.body, url))
    assert target == "https://events.pagerduty.com/v2/enqueue"
    assert json.loads(sent.body)["routing_key"] == "0123456789abcdef0123456789abcdef"
    assert sent.password is None


def test_an_alert_whose_address_is_gone_is_given_up() -> None:
    with pytest.raises(EndpointInvalid):
        address_alert(delivery("{}", None))
