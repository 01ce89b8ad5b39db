"""Tests that each change is told once, whatever the number of processes, and that the carriers send the alerts.

docs/operate/alerts.md describes the behaviour.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from penstock.delivery import run as run_module
from penstock.drivers import run
from penstock.management.alerts.evaluation import OUTAGE, act_for
from penstock.management.alerts.operations import AlertSettings, read_alerts
from penstock.management.attention.reading import read_attention
from penstock.postgres.database import Database as KeptConnection
from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statements.alerts import BEGIN_ALERTS, CHANGE_ALERT_URL, STORE_ALERTS
from penstock.settings import DRIVERS, Settings
from penstock.workers import alert, measure
from penstock.workers.deliver import Deliverer
from tests.support.alerts import count_changes
from tests.support.database import Database
from tests.support.delivery.receiver import Receiver
from tests.support.mail.server import running_mail_server
from tests.support.sql.calls import Connection, call, create, value
from tests.support.sql.full_disk import full_disk

OWN, OTHER = "000000000000", "111122223333"
PARTNER_HOOK = "https://a.test/hook"
BEGAN, ENDED = ("began", "given_up", PARTNER_HOOK), ("ended", "given_up", PARTNER_HOOK)
GIVE_UP = (
    "insert into queue.outgoing_delivery (notice_id, account_id, endpoint, raw, state, due_at, last_error) "
    "select -1, %s, %s, true, 'exhausted', clock_timestamp(), 'status 503' from generate_series(1, %s)"
)
LONG_AGO = (
    "update queue.alert_round set started_at = started_at - interval '5 minutes', ended_at = ended_at - interval"
    " '5 minutes'"
)
Evaluate = Callable[..., int]


def give_up(db: Connection, account_id: str = OWN, endpoint: str = PARTNER_HOOK, number: int = 1) -> None:
    db.execute(GIVE_UP.encode(), (account_id, endpoint, number))


def mend(db: Connection) -> None:
    db.execute("delete from queue.outgoing_delivery where state = 'exhausted'")


def read_settings(receiver: Receiver | None, path: str = "/200", **more: str) -> Settings:
    """Returns settings of an installation that tells each change at the first evaluation."""
    address = {} if receiver is None else {"QUEUE_ALERT_URL": receiver.url(path)}
    usual = {"WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8", "QUEUE_ALERT_EVALUATIONS": "1", "QUEUE_ALERT_PAUSE_SECONDS": "0"}
    return Settings.read({**usual, **address, **more})


@pytest.fixture
def evaluate(db: Connection) -> Evaluate:
    """Makes an evaluation at once, and returns the number of stored messages."""

    def run(settings: Settings) -> int:
        db.execute("update queue.alert_round set started_at = started_at - interval '1 hour', ended_at = ended_at")
        db.execute("update queue.alert_round set ended_at = greatest(ended_at, started_at)")
        return alert.run_once(settings, TransactionExecutor(db)).reported

    return run


@pytest.fixture
def deliver(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Settings], None]]:
    monkeypatch.setattr(run_module, "WAIT_FOR_MORE_MS", 0)
    with psycopg.connect(database.pooled_dsn, autocommit=True, prepare_threshold=None) as connection:
        yield lambda settings: void(Deliverer(longest_run_seconds=60).run_once(settings, connection))


def void(_: object) -> None: ...


def test_a_problem_is_told_once_and_resolved_once(
    db: Connection, receiver: Receiver, evaluate: Evaluate, deliver: Callable[[Settings], None]
) -> None:
    settings = read_settings(receiver)
    give_up(db)
    give_up(db, OTHER, "https://b.test/hook?token=secret", number=3)
    assert [evaluate(settings) for _ in range(3)] == [1, 0, 0]
    mend(db)
    assert [evaluate(settings) for _ in range(3)] == [1, 0, 0]
    deliver(settings)
    other = "https://b.test/hook"
    assert count_changes(receiver) == Counter(
        [BEGAN, ENDED, ("began", "given_up", other), ("ended", "given_up", other)]
    )
    first, second = receiver.requests
    assert first.headers["Content-Type"] == "application/json"
    assert "secret" not in first.body.decode() + second.body.decode()
    assert value(db, "select count(*) from queue.outgoing_delivery") == 0
    attempts = db.execute("select account_id, endpoint, outcome from queue.outgoing_delivery_attempt").fetchall()
    assert attempts == [(OWN, f"alert://127.0.0.1:{receiver.port}", "delivered")] * 2


def test_many_processes_evaluate_together_and_tell_once(database: Database, db: Connection, receiver: Receiver) -> None:
    """Eight processes run all the time, and each change is stored once."""
    settings = read_settings(receiver, QUEUE_ALERT_INTERVAL_MS="100")
    give_up(db)

    def run(_: int) -> int:
        with psycopg.connect(database.api_dsn, autocommit=True) as connection:
            return sum(alert.run_once(settings, TransactionExecutor(connection)).reported for _ in range(40))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(run, range(8))) == 1
    assert value(db, "select count(*) from queue.outgoing_delivery where state = 'pending'") == 1


def test_a_process_that_was_overtaken_stores_nothing(db: Connection) -> None:
    """The process began an evaluation, and stopped for so long that another process began the next."""
    (slow,) = call(db, BEGIN_ALERTS, 100, True)
    assert call(db, BEGIN_ALERTS, 100, True)[0].round is None
    db.execute("update queue.alert_round set started_at = started_at - interval '5 seconds'")
    (fast,) = call(db, BEGIN_ALERTS, 100, True)
    assert (slow.round, fast.round) == (1, 2)
    body = {"account_id": OWN, "target": "", "endpoint": "alert://a", "kind": "alert", "body": "{}",
            "message_id": "00000000-0000-4000-8000-000000000000"}  # fmt: skip
    messages = json.dumps([body])
    assert call(db, STORE_ALERTS, slow.round, "https://a", "[]", "[]", messages) == [(False, 0)]
    assert call(db, STORE_ALERTS, fast.round, "https://a", "[]", "[]", messages) == [(True, 1)]
    assert call(db, STORE_ALERTS, fast.round, "https://a", "[]", "[]", messages) == [(False, 0)]


def test_a_failed_evaluation_tells_nothing_and_the_next_one_tells_all(
    db: Connection, receiver: Receiver, evaluate: Evaluate
) -> None:
    """The state and the messages are one transaction: no message is lost, and none is stored twice."""
    settings = read_settings(receiver)
    give_up(db)
    db.execute("alter table queue.outgoing_delivery add constraint broken check (endpoint not like 'alert:%')")
    with pytest.raises(psycopg.Error):
        evaluate(settings)
    assert value(db, "select count(*) from queue.alert") == 0
    db.execute("alter table queue.outgoing_delivery drop constraint broken")
    assert evaluate(settings) == 1


def test_more_given_up_deliveries_are_told_again(
    db: Connection, receiver: Receiver, evaluate: Evaluate, deliver: Callable[[Settings], None]
) -> None:
    settings = read_settings(receiver)
    give_up(db)
    evaluate(settings)
    give_up(db, number=2)
    assert [evaluate(settings) for _ in range(2)] == [1, 0]
    deliver(settings)
    assert count_changes(receiver) == Counter([BEGAN, ("grew", "given_up", PARTNER_HOOK)])


@pytest.mark.parametrize("one", [False, True])
def test_deliveries_that_are_retried_and_given_up_again_are_one_problem(
    db: Connection, receiver: Receiver, evaluate: Evaluate, deliver: Callable[[Settings], None], one: bool
) -> None:
    """No alert reports an end of the problem, neither while the retries wait nor after they have failed. Each time, the
    pause between alerts is over.

    The account is not the installation's, and has no other problem.
    """
    settings = read_settings(receiver)
    give_up(db, OTHER)
    assert evaluate(settings) == 1
    for _ in range(2):
        retry(db, one=one)
        assert value(db, "select count(*) from queue.outgoing_delivery where state = 'exhausted'") == 0
        assert [evaluate(settings) for _ in range(2)] == [0, 0]
        db.execute("update queue.outgoing_delivery set state = 'exhausted', due_at = clock_timestamp() "
                   "where endpoint not like 'alert:%'")  # fmt: skip
        assert [evaluate(settings) for _ in range(2)] == [0, 0]
    retry(db, one=one)
    db.execute("delete from queue.outgoing_delivery where endpoint not like 'alert:%'")  # The retry succeeds.
    assert [evaluate(settings) for _ in range(2)] == [1, 0]
    deliver(settings)
    assert count_changes(receiver) == Counter([BEGAN, ENDED])


@pytest.mark.parametrize("disabled", [False, True])
def test_only_a_success_ends_the_failure_of_a_mapping(
    db: Connection, receiver: Receiver, evaluate: Evaluate, deliver: Callable[[Settings], None], disabled: bool
) -> None:
    """The failed messages move to a dead-letter queue, so the queue of the mapping is empty for a while, or a user
    disables the mapping. Another mapping of the queue works."""
    settings = read_settings(receiver)
    arn = create(db, "q")
    db.execute(
        "insert into queue.event_source_mapping (account_id, region, queue_arn, function_arn, options, enabled,"
        " reason, failing_since) select %s, 'us-east-1', %s, name, '{}', true, 'USER_INITIATED', since"
        " from (values ('http://h.test/f?key=secret', now() - interval '30 seconds'), ('works', null)) f (name, since)",
        (OWN, arn),
    )
    assert [evaluate(settings) for _ in range(2)] == [1, 0]
    db.execute("update queue.event_source_mapping set enabled = not %s, failing_since = failing_since - "
               "interval '1 hour' where failing_since is not null", (disabled,))  # fmt: skip
    assert read_all(db, settings) == []
    assert [evaluate(settings) for _ in range(3)] == [0, 0, 0]
    db.execute("update queue.event_source_mapping set failing_since = null")
    assert [evaluate(settings) for _ in range(2)] == [1, 0]
    deliver(settings)
    name = "q to http://h.test/f"
    assert count_changes(receiver) == Counter([("began", "mapping_fails", name), ("ended", "mapping_fails", name)])


def retry(db: Connection, *, one: bool) -> None:
    if one:
        db.execute("select queue.retry_delivery(account_id, delivery_id) from queue.outgoing_delivery "
                   "where state = 'exhausted'")  # fmt: skip
    else:
        db.execute("select queue.retry_deliveries(%s, null, null, null, 100)", (OTHER,))


def test_an_account_with_its_own_url_is_told_there(
    db: Connection, receiver: Receiver, evaluate: Evaluate, deliver: Callable[[Settings], None]
) -> None:
    settings = read_settings(receiver, "/204")
    assert call(db, CHANGE_ALERT_URL, OTHER, receiver.url("/200")) == [(True,)]
    assert call(db, CHANGE_ALERT_URL, OTHER, receiver.url("/200")) == [(False,)]
    give_up(db)
    give_up(db, OTHER, "https://b.test/hook")
    assert evaluate(settings) == 2
    deliver(settings)
    assert count_changes(receiver, "/204") == Counter([BEGAN])
    assert count_changes(receiver, "/200") == Counter([("began", "given_up", "https://b.test/hook")])
    assert call(db, CHANGE_ALERT_URL, OTHER, None) == [(True,)]
    assert evaluate(settings) == 1
    deliver(settings)
    assert count_changes(receiver, "/204")[("began", "given_up", "https://b.test/hook")] == 1


def test_an_evaluation_that_read_the_old_address_stores_nothing(db: Connection) -> None:
    """The account's new address would otherwise never learn of a problem that the old address knows."""
    (begun,) = call(db, BEGIN_ALERTS, 60_000, True)
    call(db, CHANGE_ALERT_URL, OTHER, "https://a.test/new")
    assert call(db, STORE_ALERTS, begun.round, None, "[]", "[]", "[]") == [(False, 0)]
    assert call(db, BEGIN_ALERTS, 60_000, True)[0].round == 3


def test_only_accounts_with_an_address_are_told_if_the_installation_has_none(
    db: Connection, receiver: Receiver, evaluate: Evaluate, deliver: Callable[[Settings], None]
) -> None:
    settings = read_settings(None)
    give_up(db)
    assert alert.run_once(settings, TransactionExecutor(db)) == (False, 0, "")
    call(db, CHANGE_ALERT_URL, OTHER, receiver.url("/200"))
    give_up(db, OTHER, "https://b.test/hook")
    assert [evaluate(settings) for _ in range(2)] == [1, 0]
    deliver(settings)
    assert count_changes(receiver) == Counter([("began", "given_up", "https://b.test/hook")])


# --- an address that fails -------------------------------------------------------------------------------------------
def test_an_address_that_fails_is_not_told_to_itself(
    db: Connection, receiver: Receiver, evaluate: Evaluate, deliver: Callable[[Settings], None]
) -> None:
    """The alert waits for its next attempt, is given up in the end, and status shows it. No alert follows."""
    settings = read_settings(receiver, "/404")
    give_up(db)
    assert evaluate(settings) == 1
    deliver(settings)
    shown = {concern.name for concern in read_all(db, settings)}
    assert shown == {PARTNER_HOOK, f"alert://127.0.0.1:{receiver.port}"}
    assert [evaluate(settings) for _ in range(3)] == [0, 0, 0]
    assert receiver.count("/404") == 1


def read_all(db: Connection, settings: Settings) -> list[Any]:
    return run(read_attention(act_for(OWN, "us-east-1", settings)), TransactionExecutor(db)).concerns


def test_an_alert_is_tried_again_after_a_failure(
    db: Connection, receiver: Receiver, evaluate: Evaluate, deliver: Callable[[Settings], None]
) -> None:
    settings = read_settings(receiver, "/500")
    give_up(db)
    evaluate(settings)
    deliver(settings)
    (late,) = [one.undelivered for one in show(db, OWN, settings).firing]
    assert late is not None
    assert (late.attempts, "500" in str(late.error), late.next_at is not None) == (1, True, True)
    receiver.responses["/500"] = receiver.responses["/200"]
    db.execute("update queue.outgoing_delivery set due_at = clock_timestamp() where state = 'pending'")
    deliver(settings)
    assert count_changes(receiver, "/500") == Counter({BEGAN: 2})
    assert [one.undelivered for one in show(db, OWN, settings).firing] == [None]
    assert value(db, "select count(*) from queue.outgoing_delivery where state = 'pending'") == 0


def test_a_private_address_is_refused_without_permission(
    db: Connection, receiver: Receiver, evaluate: Evaluate, deliver: Callable[[Settings], None]
) -> None:
    settings = read_settings(receiver, WEBHOOK_ALLOW_CIDRS="")
    give_up(db)
    evaluate(settings)
    deliver(settings)
    assert receiver.requests == []
    error = value(db, "select last_error from queue.outgoing_delivery where state = 'pending'")
    assert "WEBHOOK_ALLOW_CIDRS" in error


def test_a_corrected_address_gets_what_waits(
    db: Connection, receiver: Receiver, evaluate: Evaluate, deliver: Callable[[Settings], None]
) -> None:
    """Attempts use the current URL, so that a waiting alert arrives after the URL was corrected."""
    give_up(db)
    evaluate(read_settings(receiver, "/500"))
    deliver(read_settings(receiver, "/500"))
    give_up(db, OTHER, "https://b.test/hook")
    evaluate(read_settings(receiver, "/200"))
    db.execute("update queue.outgoing_delivery set due_at = clock_timestamp() where state = 'pending'")
    deliver(read_settings(receiver, "/200"))
    assert count_changes(receiver)[BEGAN] == 1


# --- carriers and deployments ----------------------------------------------------------------------------------------
def test_a_mail_tells_the_same(db: Connection, evaluate: Evaluate, deliver: Callable[[Settings], None]) -> None:
    with running_mail_server() as server:
        settings = read_settings(
            None, SNS_SMTP_URL=server.url(), SNS_MAIL_FROM="Penstock <no-reply@example.com>",
            QUEUE_ALERT_EMAIL="oncall@example.com",
        )  # fmt: skip
        give_up(db)
        assert evaluate(settings) == 1
        deliver(settings)
        (mail,) = server.to("oncall@example.com")
    assert mail.message["Subject"] == "Penstock: 1 problem"
    assert f"{PARTNER_HOOK}: given up" in mail.text


@pytest.mark.parametrize("driver", DRIVERS)
def test_the_function_that_measures_evaluates(
    database: Database, db: Connection, receiver: Receiver, driver: str
) -> None:
    """An installation of functions has no other worker. Both drivers pass the same values."""
    settings = read_settings(receiver)
    give_up(db)
    kept = KeptConnection(database.api_dsn, driver)
    try:
        assert measure.report_once(settings, kept, void)["alerts"] == 1
        assert measure.report_once(settings, kept, void)["alerts"] == 0
    finally:
        kept.close()
    assert value(db, "select count(*) from queue.outgoing_delivery where state = 'pending'") == 1


# --- outages ---------------------------------------------------------------------------------------------------------
def test_an_outage_is_told_once_from_its_beginning_to_its_end(
    db: Connection, receiver: Receiver, evaluate: Evaluate, deliver: Callable[[Settings], None]
) -> None:
    settings = read_settings(receiver)
    assert evaluate(settings) == 0
    db.execute(LONG_AGO)
    begin = value(db, "select ended_at from queue.alert_round")
    assert alert.run_once(settings, TransactionExecutor(db)).reported == 1
    assert evaluate(settings) == 0
    deliver(settings)
    (change,) = json.loads(receiver.requests[0].body)["changes"]
    assert (change["what"], change["text"]) == ("outage", OUTAGE)
    assert change["since"] == begin.isoformat().replace("+00:00", "Z")
    assert change["until"] > change["since"]


def test_a_full_disk_is_told_when_it_is_over(database: Database, db: Connection, receiver: Receiver) -> None:
    settings = read_settings(receiver)
    calls = TransactionExecutor(db)
    assert alert.run_once(settings, calls).refusal == ""
    with full_disk(database):
        db.execute(LONG_AGO)
        run = alert.run_once(settings, calls)
        assert run == alert.AlertRun(is_on=True, reported=0, refusal="disk full")
    db.execute("update queue.alert_round set started_at = started_at - interval '5 minutes'")
    assert alert.run_once(settings, calls, refusal=run.refusal) == alert.AlertRun(is_on=True, reported=1)
    body = value(db, "select raw from queue.notice where kind = 'alert'")
    assert "The database refused changes (disk full) from " in body


def test_the_time_without_alerts_is_no_outage(db: Connection, receiver: Receiver, evaluate: Evaluate) -> None:
    evaluate(read_settings(receiver))
    db.execute("update queue.alert_round set started_at = started_at - interval '2 hours', "
               "ended_at = ended_at - interval '2 hours'")  # fmt: skip
    assert alert.run_once(read_settings(None), TransactionExecutor(db)).reported == 0
    assert alert.run_once(read_settings(receiver), TransactionExecutor(db)).reported == 0


def test_an_idle_evaluation_changes_no_row_that_wakes_processes(
    db: Connection, receiver: Receiver, evaluate: Evaluate
) -> None:
    settings = read_settings(receiver)
    give_up(db)
    evaluate(settings)
    versions = "select array_agg((xmin, ctid)::text) from queue.alert"
    before = value(db, versions)
    evaluate(settings)
    assert value(db, versions) == before


def test_a_problem_shows_that_an_alert_will_tell_it(db: Connection, receiver: Receiver, evaluate: Evaluate) -> None:
    """Only the installation's account sees the installation's problems, and only if the installation has an address."""
    settings = read_settings(receiver, QUEUE_ALERT_EVALUATIONS="2")
    db.execute("insert into queue.reading (name, value) values ('oldest_transaction', 900)")
    give_up(db)
    give_up(db, OTHER)
    both, other = {("given_up", 2), ("old_transaction", 2)}, {("given_up", 2)}
    assert (read_pending(db, OWN, settings), read_pending(db, OTHER, settings)) == (both, other)
    assert evaluate(settings) == 0
    pause = timedelta(milliseconds=settings.queue_alert_interval_ms)
    started = value(db, "select started_at from queue.alert_round")
    assert all(one.expected_at >= started + pause for one in show(db, OWN, settings).pending if one.expected_at)
    assert read_pending(db, OWN, settings) == {("given_up", 1), ("old_transaction", 1)}
    assert evaluate(settings) == 1
    assert read_pending(db, OWN, settings) == set()
    assert {one.kind for one in show(db, OWN, settings).firing} == {"given_up", "old_transaction"}
    assert {one.kind for one in show(db, OTHER, settings).firing} == {"given_up"}


def test_problems_show_that_no_alert_has_an_address(db: Connection) -> None:
    settings = read_settings(None)
    db.execute("insert into queue.reading (name, value) values ('oldest_transaction', 900)")
    give_up(db)
    assert read_pending(db, OWN, settings) == {("given_up", None), ("old_transaction", None)}
    call(db, CHANGE_ALERT_URL, OWN, "https://a.test/")
    assert read_pending(db, OWN, settings) == {("given_up", 1), ("old_transaction", None)}
    assert "old_transaction" in show(db, OWN, settings).only_installation


def show(db: Connection, account_id: str, settings: Settings) -> AlertSettings:
    return run(read_alerts(act_for(account_id, "us-east-1", settings)), TransactionExecutor(db))


def read_pending(db: Connection, account_id: str, settings: Settings) -> set[tuple[str, int | None]]:
    return {(one.kind, one.evaluations) for one in show(db, account_id, settings).pending}
