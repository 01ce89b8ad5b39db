"""Tests that GET /metrics of a real service counts known traffic correctly.

Tests the right to read /metrics, which contains the queues of all accounts (docs/reference/prometheus.md).
"""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from penstock_web.cli import main
from tests.support import client_setup
from tests.support.conformance.access_keys import SIGV4
from tests.support.database import Database
from tests.support.metrics_page import check
from tests.support.programs.penstock_service import Service, running_service, until_row
from tests.support.programs.penstock_up import running
from tests.support.wait import wait_until
from tests.support.web.prometheus_text import Scrape, scrape

FAST = {"QUEUE_METRICS_INTERVAL_MS": "100"}
ORDERS = "orders"


@pytest.fixture
def service(database: Database) -> Iterator[Service]:
    with running_service(database.pooled_dsn, database.api_dsn, **FAST) as service:
        yield service


def create(service: Service, name: str = ORDERS, **attributes: str) -> str:
    return str(service.sqs().create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])


def receive_three(sqs: Any, url: str) -> tuple[list[dict[str, Any]], int, int]:
    """Returns three messages, the number of receives, and the number of empty receives.

    A receive can skip messages that a worker has just locked.
    """
    received: list[dict[str, Any]] = []
    calls = empty = 0
    while len(received) < 3:
        response = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=20)
        received += response.get("Messages", [])
        calls += 1
        empty += "Messages" not in response
    return received, calls, empty


# --- what requests count ---------------------------------------------------------------------------------------------
def test_requests_and_messages(service: Service) -> None:
    sqs, url = service.sqs(), create(service)
    sqs.send_message(QueueUrl=url, MessageBody="1")
    entries = [{"Id": str(n), "MessageBody": str(n)} for n in (2, 3)]
    sqs.send_message_batch(QueueUrl=url, Entries=[*entries, {"Id": "bad", "MessageBody": "\0"}])
    messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0)["Messages"]
    again, calls, empty = receive_three(sqs, url)
    assert (len(messages), len(again)) == (3, 3)
    for message in again[:2]:
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    sqs.receive_message(QueueUrl=url)
    with pytest.raises(sqs.exceptions.QueueDoesNotExist):
        sqs.send_message(QueueUrl=url + "s", MessageBody="lost")
    found = scrape(service.url)
    assert found.values("penstock_http_requests_total", "path") == {
        "sqs:CreateQueue": 1,
        "sqs:SendMessage": 2,
        "sqs:SendMessageBatch": 1,
        "sqs:ReceiveMessage": calls + 2,
        "sqs:DeleteMessage": 2,
    }
    assert found.value("penstock_http_requests_total", method="POST", path="sqs:SendMessage", status="200") == 1
    assert found.value("penstock_http_requests_total", method="POST", path="sqs:SendMessage", status="400") == 1
    for path, count in found.values("penstock_http_requests_total", "path").items():
        assert found.value("penstock_http_request_duration_seconds_count", method="POST", path=path) == count
    counts = {
        "messages_sent_total": 3,
        "messages_received_total": 6,
        "messages_redelivered_total": 3,
        "messages_deleted_total": 2,
        "empty_receives_total": empty + 1,
        "message_send_duration_seconds_count": 2,
        "message_receive_duration_seconds_count": calls + 2,
        "message_delete_duration_seconds_count": 2,
        "message_age_at_receive_seconds_count": 3,
    }
    assert {name: found.value("penstock_queue_" + name, queue=ORDERS) for name in counts} == counts
    assert set(found.values("penstock_queue_messages_sent_total", "queue")) == {ORDERS, "_other"}
    assert found.value("penstock_flush_messages_sum") == 4  # the send to the missing queue was also a call
    assert found.value("penstock_http_requests_active") == 1  # the scrape itself
    assert found.value("penstock_processes") == 1


def test_buckets_are_cumulative(service: Service) -> None:
    create(service)
    found = scrape(service.url)
    buckets = found.values("penstock_http_request_duration_seconds_bucket", "le")
    assert list(buckets) == ["0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "+Inf"]
    assert sorted(buckets.values()) == list(buckets.values())
    assert buckets["+Inf"] == 1


def test_the_rest_api_is_counted_by_route(service: Service) -> None:
    with service.http() as http:
        http.post("/v1/queues", json={"name": ORDERS})
        sent = http.post(f"/v1/queues/{ORDERS}/messages", json={"message": 1}).json()
        http.post(f"/v1/queues/{ORDERS}/messages", json={"message": 2})
        http.get("/v1/queues/unknown")
        http.get("/confidential-thing")
        http.request("PROPFIND", "/v1/queues")
        http.get(f"/v1/queues/{ORDERS}/messages")
        http.request("DELETE", f"/v1/queues/{ORDERS}/messages", json={"ids": [sent["id"]]})
        http.get("/livez")
    found = scrape(service.url)
    paths = found.values("penstock_http_requests_total", "path")
    assert paths.pop("(unmatched)") == 1
    assert paths.pop("/livez") == 1
    assert paths == {"/v1/queues": 2, "/v1/queues/{name}": 1, "/v1/queues/{name}/messages": 4}
    assert "confidential" not in found.text
    assert found.value("penstock_http_requests_total", method="GET", path="/v1/queues/{name}", status="404") == 1
    assert found.values("penstock_http_requests_total", "method")["_other"] == 1
    assert found.value("penstock_queue_messages_sent_total", queue=ORDERS) == 2
    assert found.value("penstock_queue_messages_received_total", queue=ORDERS) == 1
    assert found.value("penstock_queue_messages_deleted_total", queue=ORDERS) == 1


def test_transactions_and_events_are_counted(service: Service) -> None:
    with service.http() as http:
        for name in (ORDERS, "copies"):
            http.post("/v1/queues", json={"name": name})
        http.post(f"/v1/queues/{ORDERS}/messages", json={"message": 1})
        receipt = http.get(f"/v1/queues/{ORDERS}/messages").json()[0]["receipt"]
        body = {"ack": [{"queue": ORDERS, "receipt": receipt}], "send": [{"queue": "copies", "message": 1}]}
        assert http.post("/v1/transactions", json=body).json()["acked"] == 1
    found = scrape(service.url)
    assert found.value("penstock_queue_messages_deleted_total", queue=ORDERS) == 1
    assert found.value("penstock_queue_messages_sent_total", queue="copies") == 1


def test_a_duplicate_is_not_sent(service: Service) -> None:
    sqs, url = service.sqs(), create(service, "q.fifo", FifoQueue="true")
    for _ in range(2):
        sqs.send_message(QueueUrl=url, MessageBody="1", MessageGroupId="g", MessageDeduplicationId="d")
    assert scrape(service.url).value("penstock_queue_messages_sent_total", queue="q.fifo") == 1


def test_a_long_poll_that_finds_nothing_is_one_empty_receive(service: Service) -> None:
    sqs, url = service.sqs(), create(service)
    sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1)
    assert scrape(service.url).value("penstock_queue_empty_receives_total", queue=ORDERS) == 1


def test_refused_callers(database: Database) -> None:
    with running_service(database.api_dsn, QUEUE_ACCESS="presence") as service:
        headers = {"x-amz-target": "AmazonSQS.ListQueues", "content-type": "application/x-amz-json-1.0"}
        assert client_setup.post(service.url, headers=headers, content=b"{}").status_code == 403
        assert client_setup.get(service.url + "/v1/queues").status_code in (401, 403)
        assert client_setup.get(service.url + "/metrics").status_code == 403
        found = scrape(service.url, authorization="anything")
    assert found.total("penstock_auth_failures_total") == 3
    assert found.values("penstock_auth_failures_total", "code").keys() <= {"MissingAuthenticationToken", "AccessDenied"}


def test_most_queues_share_a_label(database: Database) -> None:
    settings = {"QUEUE_METRICS_MAX_QUEUES": "2", **FAST}
    with running_service(database.api_dsn, **settings) as service:
        for name in ("a", "b", "c", "d"):
            service.sqs().send_message(QueueUrl=create(service, name), MessageBody="1")
        until_row(database.dsn, "select from queue.measurement where visible = 1 having count(*) = 4")
        found = scrape(service.url)
    assert found.values("penstock_queue_messages_sent_total", "queue") == {"a": 1, "b": 1, "_other": 2}
    assert found.values("penstock_queue_depth", "queue") == {"a": 1, "b": 1, "_other": 2}
    assert found.value("penstock_queues_measured") == 2


# --- what is read from the database ----------------------------------------------------------------------------------
def test_gauges_of_queues(database: Database, service: Service) -> None:
    sqs, url = service.sqs(), create(service)
    for delay in (0, 0, 900):
        sqs.send_message(QueueUrl=url, MessageBody="1", DelaySeconds=delay)
    sqs.receive_message(QueueUrl=url)
    until_row(database.dsn, "select from queue.measurement where (visible, in_flight, delayed) = (1, 1, 1)")
    found = scrape(service.url)
    gauges = ("penstock_queue_depth", "penstock_queue_in_flight", "penstock_queue_delayed")
    assert [found.value(name, queue=ORDERS) for name in gauges] == [1, 1, 1]
    assert found.value("penstock_queue_oldest_message_age_seconds", queue=ORDERS) > 0
    assert found.value("penstock_db_up") == 1
    assert found.value("penstock_db_pool_size") == found.value("penstock_db_pool_idle") + found.value(
        "penstock_db_pool_active"
    )
    assert "log" in found.values("penstock_db_live_tuples", "table")
    assert found.value("penstock_worker_runs_total", worker="measure", outcome="success") >= 1


def test_health_of_the_metrics_job(database: Database, service: Service) -> None:
    """A worker that has never run has only one metric: a count of 0 failures. A run that has not ended does not change
    the metrics."""
    create(service)
    until_row(database.dsn, "select from queue.reading")
    assert "penstock_metrics_job_last" not in scrape(service.url).text
    with psycopg.connect(database.dsn, autocommit=True) as administrator:
        administrator.execute(
            "insert into queue.metrics_run (mode, started_at, finished_at, error) values "
            "('once', '2026-03-29 00:00:00+00', '2026-03-29 00:01:30+00', null), "
            "('once', '2026-03-29 01:00:00+00', '2026-03-29 01:00:10+00', 'lost'), "
            "('once', '2026-03-29 02:00:00+00', null, null)"
        )
    create(service, "another")  # so that there is something to measure
    # All scrapes within a second return the same data.
    wait_until(lambda: scrape(service.url).has("penstock_metrics_job_last_run_failed"))
    found = scrape(service.url)
    assert found.value("penstock_metrics_job_last_success_timestamp_seconds") == 1774742490
    assert found.value("penstock_metrics_job_failed_runs") == 1
    assert found.value("penstock_metrics_job_last_run_failed") == 1
    assert found.value("penstock_metrics_job_last_run_duration_seconds") == 10


def test_health_of_workers(database: Database, service: Service) -> None:
    create(service)
    until_row(database.dsn, "select from queue.reading")
    wait_until(lambda: scrape(service.url).has("penstock_worker_last_run_failed", worker="measure"))
    found = scrape(service.url)
    assert found.value("penstock_worker_last_run_failed", worker="measure") == 0
    assert found.value("penstock_worker_last_success_timestamp_seconds", worker="measure") > 0


def test_without_a_database_it_answers(database: Database, service: Service) -> None:
    from tests.support.database import block_queues

    create(service)
    with block_queues(database):
        found = scrape(service.url)
    assert found.value("penstock_db_up") == 0
    assert found.total("penstock_http_requests_total") == 1
    assert "penstock_queue_depth" not in found.text


def test_promtool_is_content(database: Database, service: Service) -> None:
    """Prometheus's linter reports no fault in types, names and units."""
    sqs, url = service.sqs(), create(service, "quote-and-backslash")
    sqs.send_message(QueueUrl=url, MessageBody="1")
    until_row(database.dsn, "select from queue.measurement where visible = 1")
    assert check("check", "metrics", text=scrape(service.url).text) == ""


# --- several processes on one port -----------------------------------------------------------------------------------
def children(process_id: int) -> list[int]:
    return [int(text) for text in Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()]


def until_answered(url: str) -> Scrape:
    """A process that has just died resets its connections."""
    while True:
        with suppress(httpx.TransportError):
            return scrape(url)


def sent(url: str, queue: str, count: int) -> None:
    headers = {"x-amz-target": "AmazonSQS.SendMessage", "content-type": "application/x-amz-json-1.0"}
    body: dict[str, Any] = {"QueueUrl": f"{url}/000000000000/{queue}", "MessageBody": "1"}
    for _ in range(count):
        # Each request opens a new connection, and any process can accept the connection.
        with client_setup.Client() as client:
            assert client.post(url, headers=headers, json=body).status_code == 200


def test_whichever_process_is_asked_answers_for_all(database: Database) -> None:
    with running("--workers", "2", "--no-migrate", DATABASE_URL=database.api_dsn) as up:
        client_setup.post(up.address + "/v1/queues", json={"name": ORDERS})
        sent(up.address, ORDERS, 40)
        responses = [scrape(up.address) for _ in range(6)]
        for found in responses:
            assert found.value("penstock_queue_messages_sent_total", queue=ORDERS) == 40
            assert found.value("penstock_processes") == 2
        # A process can notice a closed connection a moment after another process has answered.
        wait_until(lambda: scrape(up.address).value("penstock_http_requests_active") == 1)
        victim = children(up.process.pid)[0]
        os.kill(victim, signal.SIGKILL)
        while victim in children(up.process.pid):
            pass
        sent_before = until_answered(up.address)
        # The sum includes the counts of the dead process.
        assert sent_before.value("penstock_queue_messages_sent_total", queue=ORDERS) == 40


TOKEN = {"QUEUE_METRICS_TOKEN": "s3cret-tökén"}
GOOD = {b"authorization": b"bearer " + TOKEN["QUEUE_METRICS_TOKEN"].encode()}
WRONG = {"authorization": "Bearer s3cret"}
# The second text is the escaped form of the first text.
PATHS = ("/metrics", "/%6detrics", "/metrics?x=1")
EVIL_HOST, EVIL_PAGE = {"host": "evil.example"}, {"origin": "http://evil.example"}


def responses(http: httpx.Client, headers: dict[str, str] | dict[bytes, bytes]) -> set[int]:
    return {http.get(path, headers=headers).status_code for path in PATHS}


def test_open_by_default_but_not_to_pages(database: Database) -> None:
    with running_service(database.api_dsn) as service, service.http() as http:
        assert responses(http, {}) == {200}
        assert responses(http, EVIL_HOST) == {421}
        assert responses(http, EVIL_PAGE) == {403}


@pytest.mark.parametrize("access", ["off", "presence"])
def test_a_token_closes_it(database: Database, access: str) -> None:
    with running_service(database.api_dsn, QUEUE_ACCESS=access, **TOKEN) as service, service.http() as http:
        assert responses(http, {}) == responses(http, WRONG) == {401}
        assert responses(http, GOOD) == responses(http, {**GOOD, b"host": b"prometheus.example"}) == {200}
        assert http.get("/metrics").headers["www-authenticate"] == "Bearer"
        refused = http.get("/metrics", headers=GOOD).text
        assert 'penstock_auth_failures_total{code="InvalidClientTokenId"} 3' in refused


@pytest.mark.parametrize("token", [{}, TOKEN], ids=["keys", "keys and token"])
def test_with_signatures_it_wants_the_token_or_a_key(
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    token: dict[str, str],
) -> None:
    for name, value in {**SIGV4, "DATABASE_URL": database.api_dsn}.items():
        monkeypatch.setenv(name, value)

    def bearer(*arguments: str) -> dict[str, str]:
        assert main(["keys", "create", "--bearer", *arguments]) == 0
        key = capsys.readouterr().out.splitlines()[0].partition("=")[2]
        return {"authorization": f"Bearer {key}"}

    sender = tmp_path / "sender.json"
    sender.write_text('{"Statement": {"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}}')
    for user, policy in (("reader", "read"), ("sender", str(sender))):
        assert main(["users", "create", user, "--policy", policy]) == 0
    capsys.readouterr()
    root, reader, other = bearer(), bearer("--user", "reader"), bearer("--user", "sender")
    with running_service(database.api_dsn, **SIGV4, **token) as service, service.http() as http:
        assert responses(http, {}) == responses(http, WRONG) == {401}
        assert responses(http, GOOD) == {200 if token else 401}
        assert responses(http, root) == responses(http, reader) == {200}
        assert responses(http, other) == {403}
        assert scrape(service.url, **reader).value("penstock_processes") == 1
        tenant = bearer("--account", "111122223333")
        for key, name in ((root, "mine"), (tenant, "theirs")):
            http.post("/v1/queues", json={"name": name}, headers=key).raise_for_status()
            http.post(f"/v1/queues/{name}/messages", json={"message": 1}, headers=key).raise_for_status()
        lines = [line for line in http.get("/metrics", headers=tenant).text.splitlines() if line[0] != "#"]
        assert lines != []
        assert [line for line in lines if "arn:aws:sqs:us-east-1:111122223333:theirs" not in line] == []
        assert 'queue="mine"' in http.get("/metrics", headers=root).text


def test_the_documents_page_is_gone_and_the_document_stays(database: Database) -> None:
    with running_service(database.api_dsn) as service, service.http() as http:
        assert http.get("/v1/docs").status_code == 404
        document = http.get("/v1/openapi.json")
        assert "/metrics" in document.json()["paths"]
        assert document.headers["content-encoding"] == "gzip"
        again = http.get("/v1/openapi.json", headers={"if-none-match": document.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        plain = http.get("/v1/openapi.json", headers={"accept-encoding": "identity"})
        assert plain.json() == document.json()


def test_a_document_counts_as_a_request_of_the_address(database: Database) -> None:
    settings = {"QUOTA_REQUESTS_PER_SECOND": "1", "QUEUE_CONSOLE": "read"}
    with running_service(database.api_dsn, **settings) as service, service.http() as http:
        for path in ("/v1/openapi.json", "/docs/"):
            assert 429 in [http.get(path).status_code for _ in range(20)]
