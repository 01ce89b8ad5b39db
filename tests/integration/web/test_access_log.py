"""Tests that the access log contains one line for each request, with the request id of the response and without
secrets.

Penstock defines the format of the lines (docs/operate/access_log.md). The header x-amzn-RequestId of each response
identifies the request ("Making requests", Amazon SQS Developer Guide).
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from penstock.context import Context
from penstock_web.access_log.lines import Answered
from penstock_web.access_log.writer import AccessLog
from penstock_web.cli import main
from tests.support.conformance.access_keys import SIGV4
from tests.support.database import Database, set_read_only
from tests.support.programs.penstock_service import Service, running_service

JSON = {"content-type": "application/x-amz-json-1.0"}
SECRET = "a-body-that-nobody-may-log"
NO_CONTEXT: Context | None = None


@contextmanager
def logged_service(database: Database, path: Path, **settings: str) -> Iterator[Service]:
    """Provides a service whose output goes to a file. The file contains all lines after the service ends."""
    with path.open("wb") as file, running_service(
        database.api_dsn, log=file, ACCESS_LOG="stdout", **settings
    ) as service:  # fmt: skip
        yield service
        assert service.stop() == 0


def lines(path: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in found if line["message"] == "request"]


def call(http: httpx.Client, action: str, path: str = "/", **members: Any) -> httpx.Response:
    headers = {**JSON, "x-amz-target": f"AmazonSQS.{action}"}
    return http.post(path, headers=headers, json=members)


def test_each_request_has_a_line_with_the_id_of_its_response(database: Database, tmp_path: Path) -> None:
    """Sends requests in AWS's protocols and to the REST API. The fast path answers some requests, ASGI answers others,
    and the service refuses the other requests.
    """
    path = tmp_path / "log"
    with logged_service(database, path) as service, service.http() as http:
        url = call(http, "CreateQueue", QueueName="orders").json()["QueueUrl"]
        responses = [
            call(http, "SendMessage", QueueUrl=url, MessageBody=SECRET),
            call(http, "SendMessage", QueueUrl=url + "s", MessageBody=SECRET),
            call(http, "NoSuchAction"),
            # This request is too long for the fast path.
            http.post(url, data={"Action": "SendMessage", "MessageBody": "x" * 100_000}),
            http.post("/v1/queues/orders/messages", json={"message": SECRET}),
            http.get("/v1/queues/unknown"),
            http.get(f"/v1/queues/unknown?secret={SECRET}"),
            http.get(f"/{SECRET}"),
            http.post("/v1/queues", json={"name": 1}),
        ]
        assert [http.get(path).status_code for path in ("/livez", "/readyz")] == [200, 200]
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            set_read_only(connection, database.name, "on")
            degraded = http.get("/readyz")
            set_read_only(connection, database.name, "off")
        unknown = responses[1]
    by_id = {line["request_id"]: line for line in lines(path)}
    found = [by_id[response.headers["x-amzn-requestid"]] for response in responses]
    assert [(line["method"], line["action"], line["status"]) for line in found] == [
        ("POST", "sqs:SendMessage", 200),
        ("POST", "sqs:SendMessage", 400),
        ("POST", "(unread)", 400),
        ("POST", "sqs:SendMessage", 200),
        ("POST", "/v1/queues/{name}/messages", 201),
        ("GET", "/v1/queues/{name}", 404),
        ("GET", "/v1/queues/{name}", 400),
        ("GET", "(unmatched)", 404),
        ("POST", "/v1/queues", 400),
    ]
    assert by_id[unknown.headers["x-amzn-requestid"]] == found[1]
    for line, response in zip(found, responses, strict=True):
        assert line["response_bytes"] == len(response.content)
        assert line["request_bytes"] == len(response.request.content)
        assert line["client_address"] == "127.0.0.1"
        assert line["duration_ms"] > 0
        assert line["user"] is None
    assert [line["account"] for line in found[:3]] == ["000000000000", "000000000000", None]
    assert list(found[0])[:5] == ["timestamp", "level", "message", "service", "request_id"]
    assert SECRET not in path.read_text()
    assert len(by_id) == len(lines(path)) == 11  # The log has no line for a successful health check.
    assert by_id[degraded.headers["x-amzn-requestid"]]["status"] == 503


def test_the_log_names_the_verified_caller(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line contains the verified account and user, so a line for a wrong signature contains no user."""
    for name, value in {**SIGV4, "DATABASE_URL": database.api_dsn}.items():
        monkeypatch.setenv(name, value)
    assert main(["users", "create", "billing", "--policy", "read"]) == 0
    capsys.readouterr()
    assert main(["keys", "create", "--bearer", "--user", "billing"]) == 0
    bearer = f"Bearer {capsys.readouterr().out.splitlines()[0].partition('=')[2]}"
    path = tmp_path / "log"
    with logged_service(database, path, **SIGV4) as service, service.http() as http:
        forged = {
            "authorization": "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20261126/us-east-1/sqs/aws4_request, "
            "SignedHeaders=host, Signature=0123456789abcdef"
        }
        responses = [
            http.get("/v1/queues", headers={"authorization": bearer}),
            http.get("/v1/queues", headers={"authorization": "Bearer wrong"}),
            http.post("/", headers={**JSON, **forged, "x-amz-target": "AmazonSQS.ListQueues"}, content=b"{}"),
        ]
    by_id = {line["request_id"]: line for line in lines(path)}
    found = [by_id[response.headers["x-amzn-requestid"]] for response in responses]
    assert [(line["status"], line["account"], line["user"]) for line in found] == [
        (200, "000000000000", "billing"),
        (401, None, None),
        (400, None, None),  # IncompleteSignature ("Common errors", Amazon SQS API Reference)
    ]
    text = path.read_text()
    assert not any(secret in text for secret in ("AKIA", "0123456789abcdef", "wrong", bearer.removeprefix("Bearer ")))


def test_a_client_that_leaves_before_the_response_is_logged(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "log"
    with logged_service(database, path) as service, service.http() as http:
        url = call(http, "CreateQueue", QueueName="orders").json()["QueueUrl"]
        headers = {**JSON, "x-amz-target": "AmazonSQS.ReceiveMessage"}
        body = {"QueueUrl": url, "WaitTimeSeconds": 20}
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(service.url, headers=headers, json=body, timeout=0.2, verify=False)
        # The test cannot observe when the service notices the disconnect. The request ends when the service ends.
    (gone,) = [line for line in lines(path) if line["action"] == "sqs:ReceiveMessage"]
    assert gone["status"] is None


def test_without_the_setting_nothing_is_written(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as file, running_service(database.api_dsn, log=file) as service, service.http() as http:
        assert call(http, "ListQueues").status_code == 200
        assert service.stop() == 0
    assert lines(path) == []


# --- the queue of lines ----------------------------------------------------------------------------------------------
def answered(number: int) -> Answered:
    return Answered("GET", "/livez", str(number), 200, 0.001, 0, 2, "127.0.0.1")


def test_a_reader_that_stops_loses_lines_and_delays_no_request(caplog: pytest.LogCaptureFixture) -> None:
    """A full pipe blocks the thread that writes the log. The queue of the log fills, and the service counts lines that
    do not fit."""
    dropped: list[int] = []
    reader, writer = os.pipe()
    log = AccessLog(writer, dropped.append, most_lines=1_000)
    try:
        for number in range(20_000):  # 4 MB, of which the pipe buffers 64 KiB
            log.add(answered(number), NO_CONTEXT)
        assert sum(dropped) > 10_000
        assert len(caplog.records) == 1
        log.close(0)
        log.add(answered(0), NO_CONTEXT)  # late
    finally:
        os.close(reader)
        log._thread.join(60)
        os.close(writer)
    assert not log._thread.is_alive()


def test_lines_are_whole_and_in_their_order() -> None:
    reader, writer = os.pipe()
    log = AccessLog(writer, lambda _: None)
    for number in range(100):
        log.add(answered(number), NO_CONTEXT)
    log.close(60)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        assert [json.loads(line)["request_id"] for line in file] == [str(number) for number in range(100)]
