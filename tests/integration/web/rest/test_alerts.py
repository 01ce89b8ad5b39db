"""Tests the address of an account's alerts over REST and from the command line (docs/operate/alerts.md)."""

import json
from collections.abc import Iterator

import httpx
import psycopg
import pytest

from penstock_web.cli import main
from tests.support.conformance.access_keys import SIGV4, key_ring
from tests.support.database import Database
from tests.support.delivery.receiver import Receiver, running_receiver
from tests.support.programs.penstock_service import Service
from tests.support.web.http_connection import error_code

pytestmark = [
    pytest.mark.shared,
    pytest.mark.settings(
        **SIGV4, WEBHOOK_ALLOW_CIDRS="127.0.0.0/8", QUEUE_ALERT_URL="https://127.0.0.1:1/hidden",
        QUEUE_HTTP_DELIVERY_POLL_MS="20",
    ),
]  # fmt: skip
SECRET = "a-secret-path"
UNTOLD = {
    "installation": True, "links": False, "firing": [], "pending": [],
    "only_installation": ["old_snapshot", "old_transaction"], "muted": [],
}  # fmt: skip
Header = dict[str, str]


@pytest.fixture(scope="module")
def hook() -> Iterator[Receiver]:
    with running_receiver() as receiver:
        receiver.responses[f"/{SECRET}"] = receiver.responses["/200"]
        yield receiver


def root(database: Database, account: str) -> Header:
    with key_ring(database) as ring:
        return {"authorization": f"Bearer {ring.create(account, '', bearer=True).token}"}


def test_an_account_sets_shows_tests_and_clears_its_address(
    shared_database: Database, service: Service, http: httpx.Client, hook: Receiver, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    header = root(shared_database, "111122223333")
    monkeypatch.setenv("PENSTOCK_ENDPOINT", service.url)
    monkeypatch.setenv("PENSTOCK_TOKEN", header["authorization"])
    shown = f"slack+http://127.0.0.1:{hook.port}/****"
    assert main(["alerts", "set", f"slack+{hook.url(f'/{SECRET}')}"]) == 0
    assert main(["alerts", "show"]) == 0
    printed = capsys.readouterr().out
    assert shown in printed
    assert "none; links need QUEUE_BASE_URL" in printed
    assert "only the installation's address receives: old_snapshot, old_transaction" in printed
    expected = {"url": shown, **UNTOLD}
    assert http.get("/v1/alerts", headers=header).json() == expected
    assert main(["alerts", "test"]) == 0
    out = capsys.readouterr().out
    assert f"alert://127.0.0.1:{hook.port} responded with 200" in out
    (request,) = hook.requests
    assert "This is a test" in json.loads(request.body)["text"]
    assert main(["alerts", "set", hook.url("/404")]) == 0
    assert main(["alerts", "test"]) == 1
    assert "not delivered: HTTP status 404" in capsys.readouterr().err
    assert main(["alerts", "clear"]) == 0
    assert http.get("/v1/alerts", headers=header).json()["url"] is None
    deliveries = http.get("/v1/deliveries?state=exhausted", headers=header).text
    attempts = http.get("/v1/deliveries/attempts", headers=header).text
    assert "alert://" in deliveries
    assert SECRET not in deliveries + attempts + out
    with psycopg.connect(shared_database.dsn) as db:
        rows = db.execute("select action, target, details, changes from queue.audit where account_id = '111122223333'")
        acts = rows.fetchall()
    assert [row[0] for row in acts if row[0] != "penstock:CreateKey"] == [
        "penstock:SetAlerts", "penstock:TestAlerts", "penstock:SetAlerts", "penstock:TestAlerts", "penstock:SetAlerts",
    ]  # fmt: skip
    assert SECRET not in str(acts)


def test_the_rules_for_prometheus_are_still_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["alerts", "--service", "https://queues.example.com/"]) == 0
    assert "runbook_url: https://queues.example.com/docs/" in capsys.readouterr().out


def test_another_account_cannot_send_to_the_installations_address(
    shared_database: Database, http: httpx.Client
) -> None:
    header = root(shared_database, "222233334444")
    expected: dict[str, object] = {"url": None, **UNTOLD}
    assert http.get("/v1/alerts", headers=header).json() == expected
    assert error_code(http.post("/v1/alerts/test", headers=header)) == (404, "alerts_not_set")
    sent = http.post("/v1/alerts/test", headers=root(shared_database, "000000000000")).json()
    assert [row["endpoint"] for row in sent] == ["alert://127.0.0.1:1"]


def test_a_resource_is_muted_and_unmuted(
    shared_database: Database, service: Service, http: httpx.Client, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """An endpoint belongs to the account, and a queue to the region. A mute ends by itself."""
    header = root(shared_database, "444455556666")
    monkeypatch.setenv("PENSTOCK_ENDPOINT", service.url)
    monkeypatch.setenv("PENSTOCK_TOKEN", header["authorization"])
    assert main(["alerts", "mute", "queue", "orders", "--hours", "8"]) == 0
    body = {"resource": "endpoint", "name": "https://a.test/", "hours": 24}
    http.post("/v1/alerts/mute", json=body, headers=header).raise_for_status()
    muted = http.get("/v1/alerts", headers=header).json()["muted"]
    assert [(one["resource"], one["name"]) for one in muted] == [("endpoint", "https://a.test/"), ("queue", "orders")]
    for wrong in ({**body, "hours": 2}, {**body, "resource": "database"}, {**body, "name": ""}):
        assert error_code(http.post("/v1/alerts/mute", json=wrong, headers=header))[0] == 400
    assert main(["alerts", "unmute", "endpoint", "https://a.test/"]) == 0
    capsys.readouterr()
    assert main(["alerts", "show"]) == 0
    printed = capsys.readouterr().out.partition("muted:")[2]
    assert ("orders" in printed, "a.test" in printed) == (True, False)
    with psycopg.connect(shared_database.dsn) as db:
        rows = db.execute("select target, details from queue.audit where action = 'penstock:MuteAlerts' and account_id"
                          " = '444455556666' order by audit_id").fetchall()  # fmt: skip
        assert rows == [("queue orders", {"hours": 8}), ("endpoint https://a.test/", {"hours": 24}),
                        ("endpoint https://a.test/", {"hours": 0})]  # fmt: skip
        db.execute("update queue.alert_mute set muted_until = now() where account_id = '444455556666'")
        db.commit()
    assert http.get("/v1/alerts", headers=header).json()["muted"] == []


@pytest.mark.parametrize(
    "url", ["ftp://a.test/hunter2", "https://u:hunter2@a.test/", "https://events.pagerduty.com/v2/enqueue", "", "\0", 7]
)
def test_an_unusable_address_is_refused(shared_database: Database, http: httpx.Client, url: object) -> None:
    header = root(shared_database, "111122223333")
    response = http.put("/v1/alerts", json={"url": url}, headers=header)
    assert error_code(response)[0] == 400
    assert "hunter2" not in response.text


@pytest.mark.parametrize(
    ("policy", "statuses"),
    [("read", (200, 403, 403, 403)), ("operate", (200, 403, 403, 404)), ("admin", (200, 204, 204, 404))],
)
def test_policies_decide(shared_database: Database, http: httpx.Client, policy: str, statuses: tuple[int, ...]) -> None:
    """docs/operate/policies.md: everybody reads, `operate` tests, and only `admin` changes the address."""
    owner = root(shared_database, "333344445555")
    http.put(f"/v1/users/{policy}", json={"policies": [policy]}, headers=owner).raise_for_status()
    made = http.post("/v1/keys", json={"bearer": True, "user": policy}, headers=owner).json()
    header = {"authorization": f"Bearer {made['token']}"}
    found = (
        http.get("/v1/alerts", headers=header), http.put("/v1/alerts", json={"url": "https://a.test/"}, headers=header),
        http.delete("/v1/alerts", headers=header), http.post("/v1/alerts/test", headers=header),
    )  # fmt: skip
    assert tuple(response.status_code for response in found) == statuses
