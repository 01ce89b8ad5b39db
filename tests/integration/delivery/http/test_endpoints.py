"""Tests endpoints that a worker never connects to, and endpoints and hosts that fail, respond slowly or are throttled.
Webhooks to other endpoints do not wait.

By default, a worker never connects to the receiver's address. `tests/unit/delivery/http/test_guard.py` tests all
address notations without connections.
"""

import socket
from collections import Counter
from typing import Any

import pytest

from penstock.delivery.http.outcome import judge_failure, judge_response
from penstock.delivery.http.resolver import ResolverBusyError
from penstock.delivery.outcome import Claimed, Finished
from penstock.delivery.store import DeliveryStore
from penstock.settings import Settings
from tests.integration.delivery.http.conftest import Deliver
from tests.support.delivery.receiver import Receiver
from tests.support.delivery.rows import deliveries, number, pass_time, publish
from tests.support.sql.calls import Connection, bodies, create, receive

pytestmark = pytest.mark.emptied

HOSTS = (
    "127.0.0.1", "127.255.255.254", "127.0.0.1.", "127.1", "127.0.1", "0.0.0.0", "0", "2130706433", "0x7f000001",
    "0x7f.0.0.1", "017700000001", "0177.0.0.1", "localhost", "LOCALHOST", "localhost.", "[::1]", "[::]",
    "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
    "[2600::5efe:7f00:1]", "user@127.0.0.1", "8.8.8.8@127.0.0.1", socket.gethostname(),
)  # fmt: skip
RESPONSES = {
    "private.example": ["127.0.0.1"], "mixed.example": ["8.8.8.8", "127.0.0.1"],
    "mixed6.example": ["2606:4700::1", "::1"], "mapped.example": ["::ffff:127.0.0.1"],
    "metadata.example": ["169.254.169.254", "127.0.0.1"],
    "last.example": ["8.8.8.8", "8.8.4.4", "1.1.1.1", "127.0.0.1"],
}  # fmt: skip


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Returns RESPONSES in the format of the system resolver."""
    ask = socket.getaddrinfo

    def response(host: Any, port: Any, *more: Any, **given: Any) -> Any:
        found = RESPONSES.get(host)
        return ask(host, port, *more, **given) if found is None else [(0, 0, 0, "", (address, 0)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", response)


@pytest.mark.usefixtures("names")
def test_no_delivery_connects_to_this_machine(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    urls = [f"http://{host}:{receiver.port}/200" for host in (*HOSTS, *RESPONSES)]
    publish(db, *urls)
    tried = sum(deliver(webhook_allow_cidrs="").values())
    assert (tried, receiver.connections) == (len(urls), 0)
    found = deliveries(db)
    assert [row for row in found if not row.last_error or row.last_status is not None] == []


@pytest.mark.usefixtures("names")
def test_where_a_name_leads_is_not_told(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    """A webhook's owner must not learn names in the operator's network."""
    publish(db, *(f"http://{host}:{receiver.port}/200" for host in RESPONSES))
    deliver(webhook_allow_cidrs="")
    told = {row.last_error for row in deliveries(db)}
    assert told == {"an address of the host is not public and not in WEBHOOK_ALLOW_CIDRS"}


@pytest.mark.usefixtures("names")
def test_where_it_is_allowed_it_does(db: Connection, deliver: Deliver, receiver: Receiver) -> None:
    """Without this test, the previous test would also pass if no delivery worked."""
    publish(db, *(f"http://{host}:{receiver.port}/200" for host in ("127.0.0.1", "localhost", "private.example")))
    deliver(webhook_allow_cidrs="127.0.0.0/8,::1/128")
    assert (receiver.count("/200"), deliveries(db)) == (3, [])


BAD, GOOD = "http://bad.example/", "http://good.example/"
OTHER_ACCOUNT = "111122223333"
COPIES = """
    insert into queue.outgoing_delivery (notice_id, account_id, subscription_arn, endpoint, raw, subscription_policy)
    select notice_id, account_id, subscription_arn, endpoint, raw, subscription_policy
    from queue.outgoing_delivery, generate_series(1, 30)"""
THROTTLED = {"throttlePolicy": {"maxReceivesPerSecond": 5}}


def settle(store: DeliveryStore, claims: list[Claimed], status: int) -> dict[str, int]:
    return store.settle([Finished(claimed, judge_response(claimed.delivery, status)) for claimed in claims])


def busy(claims: list[Claimed]) -> dict[str, int]:
    """Posts these webhooks. Returns the number of concurrent requests."""
    return dict(Counter(claimed.delivery.endpoint_key for claimed in claims))


def publish_as(db: Connection, account_id: str, *urls: str, copies: int = 1) -> None:
    last = number(db, "select coalesce(max(delivery_id), 0) from queue.outgoing_delivery")
    publish(db, *urls, copies=copies)
    db.execute("update queue.outgoing_delivery set account_id = %s where delivery_id > %s", (account_id, last))


def endpoints(claims: list[Claimed]) -> list[str]:
    return [claimed.delivery.endpoint for claimed in claims]


def pause(db: Connection, store: DeliveryStore, more: int = 30) -> None:
    """Makes 20 attempts to reach BAD fail, while `more` webhooks wait for BAD."""
    publish(db, BAD, copies=20 + more)
    claims = store.claim(50, {})
    assert len(claims) == 20
    assert settle(store, claims, 503)["retried"] == 20


def test_a_process_gets_20_of_a_host_and_others_behind_them(db: Connection, store: DeliveryStore) -> None:
    publish(db, BAD, copies=200)
    publish(db, GOOD, copies=5)
    first = store.claim(30, {})
    assert endpoints(first) == [BAD] * 20
    second = store.claim(30, busy(first))
    assert endpoints(second) == [GOOD] * 5
    assert store.claim(30, busy(first + second)) == []
    assert len(store.claim(30, busy(first[:15]))) == 5


def test_all_urls_of_a_host_share_its_places(db: Connection, store: DeliveryStore) -> None:
    """60 URLs on a slow host share 20 concurrent requests, regardless of the letter case of the URLs and the rates of
    the subscriptions."""
    urls = [f"http://{'Slow' if n % 2 else 'slow'}.example:80/{n}" for n in range(60)]
    publish(db, *urls[:40], copies=2)
    publish(db, *urls[40:], policy={"throttlePolicy": {"maxReceivesPerSecond": 1_000}})
    publish(db, "http://slow.example", "https://slow.example/", GOOD)
    taken: list[Claimed] = []
    for _ in range(4):
        taken += store.claim(50 - len(taken), busy(taken))
    assert Counter("low.example:80/" in url for url in endpoints(taken)) == {True: 20, False: 2}
    assert {"https://slow.example/", GOOD} <= set(endpoints(taken))
    settle(store, taken[:5], 200)
    assert len(store.claim(33, busy(taken[5:]))) == 5


def test_accounts_take_turns(db: Connection, store: DeliveryStore) -> None:
    """An account with many webhooks to many slow hosts does not delay another account."""
    publish(db, BAD)
    db.execute("""insert into queue.outgoing_delivery (notice_id, account_id, subscription_arn, endpoint, raw, due_at)
        select notice_id, '111122223333', subscription_arn, 'http://slow' || n || '.example/', raw,
            due_at - interval '1 h'
        from queue.outgoing_delivery, generate_series(1, 100) n""")
    claims = store.claim(2, {})
    assert BAD in endpoints(claims)
    assert len(claims) == 2
    assert len(store.claim(50, {})) == 40


@pytest.mark.parametrize(("places", "taken"), [(50, 40), (10, 8), (5, 4), (2, 1), (1, 1)])
def test_an_account_alone_leaves_a_fifth_of_the_places(
    db: Connection, store: DeliveryStore, places: int, taken: int
) -> None:
    publish_as(db, OTHER_ACCOUNT, *(f"http://slow{n}.example/" for n in range(100)))
    first = store.claim(places, {})
    assert len(first) == taken
    assert store.claim(places - taken, busy(first)) == []
    publish(db, GOOD, BAD)
    if places > taken:
        others = store.claim(places - taken, busy(first))
        assert others
        assert set(endpoints(others)) <= {GOOD, BAD}


def test_an_account_whose_hosts_are_all_due_again_leaves_others_their_turn(
    db: Connection, store: DeliveryStore
) -> None:
    """One account has more due endpoints than a claim examines. The worker still serves another account's endpoint."""
    publish(db, BAD)
    publish_as(db, OTHER_ACCOUNT, *(f"http://slow{n}.example/" for n in range(30)))
    db.execute("update queue.outgoing_delivery set waiting = true, waits_for = account_id || ' ' || endpoint_key")
    db.execute(
        "insert into queue.delivery_endpoint (endpoint_key, next_at, account_id, host)"
        " select waits_for, now() - case when endpoint = %s then '1 s' else '1 h' end::interval, account_id,"
        "     queue.delivery_host(account_id, endpoint)"
        " from queue.outgoing_delivery",
        (BAD,),
    )
    claims = store.claim(10, {})
    assert BAD in endpoints(claims)
    assert len(claims) > 1


def test_another_process_may_take_what_one_set_aside(db: Connection, store: DeliveryStore) -> None:
    publish(db, BAD, copies=50)
    assert len(store.claim(50, {})) == 20
    assert len(DeliveryStore(db, None, 20).claim(50, {})) == 20


OF_CARRIER = {
    "http": GOOD, "lambda": "arn:aws:lambda:us-east-1:000000000000:function:F", "mail": "smtp://mail/email",
    "gateway": "sns://gateway/sms",
}  # fmt: skip


@pytest.mark.parametrize("waits", [False, True], ids=["due", "endpoint due"])
@pytest.mark.parametrize("carrier", OF_CARRIER)
def test_a_process_claims_only_deliveries_of_its_carriers(db: Connection, carrier: str, waits: bool) -> None:
    """A process that lacks the carrier does not change the delivery, so another process can claim the delivery at
    once."""
    publish(db, OF_CARRIER[carrier])
    if waits:
        db.execute("update queue.outgoing_delivery set waiting = true, waits_for = account_id || ' ' || endpoint_key")
        db.execute(
            "insert into queue.delivery_endpoint (endpoint_key, next_at, account_id, host) select waits_for, now(),"
            " account_id, queue.delivery_host(account_id, endpoint) from queue.outgoing_delivery"
        )
    others = DeliveryStore(db, None, 20, [name for name in OF_CARRIER if name != carrier])
    assert (others.wait_ms(), others.claim(50, {}), others.wait_ms()) == (None, [], None)
    able = DeliveryStore(db, None, 20, ["http", carrier])
    assert able.wait_ms() == 0
    assert endpoints(able.claim(50, {})) == [OF_CARRIER[carrier]]


def test_the_carriers_have_one_list(db: Connection) -> None:
    publish(db, *OF_CARRIER.values())
    rows = db.execute("select carrier, queue.delivery_carriers() from queue.outgoing_delivery order by 1").fetchall()
    settings = {"SNS_GATEWAY_URL": "http://a", "SNS_SMTP_URL": "smtp://a", "SNS_MAIL_FROM": "a@a.a"}
    every = Settings.read({**settings, "QUEUE_LAMBDA_ENDPOINT": "http://a"}).carriers
    assert [carrier for carrier, _ in rows] == rows[0][1] == sorted(every) == sorted(OF_CARRIER)
    assert Settings.read({}).carriers == ("http",)


def test_20_failures_pause_an_endpoint_and_use_up_no_attempts_of_others(
    db: Connection, store: DeliveryStore, caplog: pytest.LogCaptureFixture
) -> None:
    """The log reports the endpoint once, and the endpoint then needs attention."""
    pause(db, store)
    warned = [one for one in caplog.records if one.message == "deliveries to an endpoint are paused"]
    assert [(one.levelname, vars(one)["endpoint"]) for one in warned] == [("WARNING", BAD)]
    listed = (
        "select endpoint, given_up, paused_at < clock_timestamp(), stopped, waiting"
        " from queue.list_failed_endpoints('000000000000', 100, 120)"
    )
    assert db.execute(listed).fetchall() == [(BAD, 0, True, False, 50)]  # 20 are retried later
    publish(db, GOOD)
    assert endpoints(store.claim(50, {})) == [GOOD]
    assert sum(row.attempts for row in deliveries(db)) == 20


def test_a_delivery_that_was_not_attempted_uses_up_no_attempt(db: Connection, store: DeliveryStore) -> None:
    publish(db, GOOD)
    (claimed,) = store.claim(1, {})
    outcome = judge_failure(claimed.delivery, ResolverBusyError("too many names are being looked up"))
    assert store.settle([Finished(claimed, outcome)])["retried"] == 1
    (row,) = deliveries(db)
    assert (row.attempts, row.last_status, row.last_error) == (0, None, "too many names are being looked up")
    pass_time(db, 1)
    assert endpoints(store.claim(1, {})) == [GOOD]


def test_19_failures_do_not(db: Connection, store: DeliveryStore) -> None:
    publish(db, BAD, copies=19)
    settle(store, store.claim(50, {}), 503)
    publish(db, BAD)
    assert endpoints(store.claim(50, {})) == [BAD]


def test_an_endpoint_that_has_failed_for_minutes_needs_attention(
    db: Connection, store: DeliveryStore, caplog: pytest.LogCaptureFixture
) -> None:
    """A response resets the state, and the log reports both changes once. The row of a failing endpoint stays in the
    table for longer than an hour after the first failure."""

    def failing() -> list[tuple[object, ...]]:
        return db.execute(
            "select endpoint, failing_since < clock_timestamp() - interval '90 minutes', retried, retry_error"
            " from queue.list_failed_endpoints('000000000000', 10, 120)"
        ).fetchall()

    publish(db, BAD, copies=3)
    settle(store, store.claim(50, {}), 503)
    assert failing() == []
    for step in range(2):
        db.execute("update queue.delivery_endpoint set failing_since = failing_since - interval '50 minutes'")
        pass_time(db, 3000)
        settle(store, store.claim(50, {}), 503)
        assert failing() == [(BAD, step == 1, 3, "HTTP status 503")]
        assert measured(db, "endpoints_failing") == 1
    pass_time(db, 3000)
    caplog.set_level("INFO")
    settle(store, store.claim(1, {}), 200)
    settle(store, store.claim(1, {}), 200)
    assert failing() == []
    assert measured(db, "endpoints_failing") == 0
    logged = [(one.message, vars(one)["endpoint"]) for one in caplog.records if "endpoint" in vars(one)]
    assert logged == [("an endpoint fails", BAD), ("an endpoint answers again", BAD)]


def test_a_failure_outlives_the_deliveries_that_it_made_be_given_up(db: Connection, store: DeliveryStore) -> None:
    """Hours later nothing has shown that the endpoint works. A response shows it, and a failed retry does not."""

    def fails() -> list[tuple[object, ...]]:
        return db.execute(
            "select given_up, again, fails_since is not null from queue.list_failed_endpoints('000000000000', 10, 120)"
        ).fetchall()

    publish(db, BAD, copies=2)
    settle(store, store.claim(50, {}), 503)
    db.execute("update queue.delivery_endpoint set failing_since = failing_since - interval '50 minutes'")
    db.execute("update queue.outgoing_delivery set state = 'exhausted'")
    for _ in range(3):
        pass_time(db, 3700)
        assert store.claim(50, {}) == []
        assert fails() == [(2, 0, True)]
    db.execute("select queue.retry_deliveries('000000000000', null, null, null, 100)")
    assert fails() == [(0, 2, True)]
    first, second = store.claim(50, {})
    settle(store, [first], 503)
    assert fails() == [(0, 2, True)]
    settle(store, [second], 200)
    assert fails() == [(0, 1, False)]


def measured(db: Connection, name: str) -> float:
    """Measures the installation. Returns the value of the given reading."""
    db.execute("select queue.measure_installation()")
    (row,) = db.execute("select value from queue.reading where name = %s", (name,)).fetchall()
    return float(row[0])


def test_a_response_in_between_starts_the_count_anew(db: Connection, store: DeliveryStore) -> None:
    for status in (503, 404, 503):
        publish(db, BAD, copies=15)
        settle(store, store.claim(50, {}), status)
    publish(db, BAD)
    assert endpoints(store.claim(50, {})) == [BAD]


def test_after_the_pause_one_tries_and_a_failure_doubles_it(db: Connection, store: DeliveryStore) -> None:
    pause(db, store)
    for seconds in (5, 10, 20, 40, 60, 60):
        pass_time(db, seconds - 2)
        assert store.claim(50, {}) == []
        pass_time(db, 2.5)
        probe = store.claim(50, {})
        assert endpoints(probe) == [BAD]
        assert store.claim(50, {}) == []
        settle(store, probe, 503)


def test_the_pause_of_an_endpoint_outlives_its_time_while_retries_are_due_later(
    db: Connection, store: DeliveryStore
) -> None:
    """The endpoint needs attention until its first due retry, which is a probe. Penstock removes the row after an hour
    without an attempt."""
    pause(db, store, more=0)
    db.execute("update queue.outgoing_delivery set due_at = clock_timestamp() + interval '30 minutes'")
    for _ in range(2):
        pass_time(db, 7)
        assert store.claim(50, {}) == []
        listed = "select endpoint from queue.list_failed_endpoints('000000000000', 10, 120) where paused_at is not null"
        assert db.execute(listed.encode()).fetchall() == [(BAD,)]
    pass_time(db, 1800)
    probe = store.claim(50, {}) + store.claim(50, {})  # The first call can postpone the webhooks and return none.
    assert endpoints(probe) == [BAD]
    settle(store, probe, 503)
    db.execute("delete from queue.outgoing_delivery")
    for _ in range(2):
        pass_time(db, 3700)
        assert store.claim(50, {}) == []
    assert number(db, "select count(*) from queue.delivery_endpoint") == 0


def test_after_the_pause_a_response_lets_all_go(db: Connection, store: DeliveryStore) -> None:
    pause(db, store)
    pass_time(db, 5)
    settle(store, store.claim(50, {}), 200)
    assert len(store.claim(50, {})) == 20
    assert number(db, "select count(*) from queue.delivery_endpoint where paused_until is not null") == 0


def test_a_probe_that_got_lost_is_followed_by_another(db: Connection, store: DeliveryStore) -> None:
    pause(db, store)
    pass_time(db, 5)
    assert len(store.claim(50, {})) == 1
    pass_time(db, 31)
    assert len(store.claim(50, {})) == 1


def test_a_delivery_that_waits_for_an_hour_is_given_up(db: Connection, store: DeliveryStore) -> None:
    dead = create(db, "dead")
    pause(db, store, more=0)
    publish(db, BAD, dead_letters=dead, raw=True, text="late")
    publish(db, BAD)
    assert store.claim(50, {}) == []
    db.execute("update queue.outgoing_delivery set due_at = due_at - interval '61 minutes' where attempts = 0")
    assert store.expire() == {"exhausted": 1, "dead_lettered": 1, "failed_redrives": 0}
    assert bodies(receive(db, dead)) == ["late"]
    assert [row.last_error for row in deliveries(db) if row.state == "exhausted"] == [
        "the endpoint was paused for an hour"
    ]


def test_an_accounts_failures_pause_no_other_accounts_webhooks_for_the_same_url(
    db: Connection, store: DeliveryStore
) -> None:
    pause(db, store, more=5)
    publish_as(db, OTHER_ACCOUNT, BAD)
    (claimed,) = store.claim(50, {})
    assert claimed.delivery.account_id == OTHER_ACCOUNT


def test_a_paused_url_holds_up_no_other_url_of_its_host(db: Connection, store: DeliveryStore) -> None:
    """After the pause, the worker delivers to the other URL, even if its webhooks waited for the host before the
    pause."""
    publish(db, BAD, copies=60)
    publish(db, BAD + "works")
    failing = store.claim(50, {})
    assert store.claim(30, busy(failing)) == []
    assert settle(store, failing, 503)["retried"] == 20
    assert endpoints(store.claim(50, {})) == [BAD + "works"]
    assert store.claim(50, {}) == []
    pass_time(db, 5)
    probe = store.claim(50, {})
    assert endpoints(probe) == [BAD]
    settle(store, probe, 200)
    assert len(store.claim(50, {})) == 20


def test_a_throttled_subscription_keeps_its_rate(db: Connection, store: DeliveryStore) -> None:
    """All workers together deliver 5 webhooks a second: one webhook every 200 ms. Unused capacity expires."""
    publish(db, BAD, policy=THROTTLED, copies=1)
    db.execute(COPIES)
    taken = []
    # The database's clock keeps running, so the test counts webhooks during a simulated second.
    with db.transaction():
        for _ in range(10):
            taken.append(len(store.claim(50, {})))
            pass_time(db, 0.2)
    assert max(taken) == 1
    assert sum(taken) >= 9
    pass_time(db, 10)
    assert len(store.claim(50, {})) == 1


def test_the_rows_of_healthy_endpoints_are_removed(db: Connection, store: DeliveryStore) -> None:
    publish(db, GOOD, copies=45)
    for size in (20, 20, 5):
        claims = store.claim(50, {})
        assert len(claims) == size
        settle(store, claims, 200)
    assert number(db, "select count(*) from queue.delivery_endpoint") == 0
