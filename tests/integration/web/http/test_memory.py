"""Memory is bounded for messages of any length and number, and an unauthenticated client never takes all of it.
Source: decision 14, 120 MB.

GET /_localstack/health, for scripts that wait for it. LocalStack's page "Internal Endpoints" names the path. Such
scripts look for the states "running" and "error".
"""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from penstock import __version__
from penstock.actions import SERVICES
from tests.support.database import Database, set_read_only
from tests.support.programs.penstock_service import Service, running_service

MIB = 1_048_576
BODY = "x" * MIB
SENDERS = 40
# This limit is for all requests under way. The messages of all senders in their four forms would need 160 MiB.
SPARE_MIB = 50


def at_most(service: Service) -> int:
    """Returns the largest resident memory of the process so far, in KiB: VmHWM of proc(5)."""
    status = Path(f"/proc/{service.process_id}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the kernel does not tell")
def test_long_messages_from_many_at_once(database: Database) -> None:
    """The service accepts 40 MiB at once and returns them in responses of several MiB."""
    with running_service(database.api_dsn) as service, service.http() as http:
        url = service.sqs().create_queue(QueueName="orders")["QueueUrl"]

        def call(action: str, **request: object) -> dict[str, list[dict[str, str]]]:
            headers = {"x-amz-target": f"AmazonSQS.{action}", "content-type": "application/x-amz-json-1.0"}
            answer = http.post("/", headers=headers, content=json.dumps({"QueueUrl": url, **request}))
            assert answer.status_code == 200, answer.text[:200]
            found: dict[str, list[dict[str, str]]] = answer.json()
            return found

        call("SendMessage", MessageBody=BODY)
        before = at_most(service)
        with ThreadPoolExecutor(SENDERS) as threads:
            list(threads.map(lambda _: call("SendMessage", MessageBody=BODY), range(SENDERS)))
            taken = threads.map(lambda _: call("ReceiveMessage", MaxNumberOfMessages=10), range(11))
            bodies = [message["Body"] for answer in taken for message in answer.get("Messages", ())]
        assert len(bodies) == SENDERS + 1
        assert set(bodies) == {BODY}
        assert (at_most(service) - before) / 1024 < SPARE_MIB


def test_strangers_who_send_slowly_take_no_memory_from_others(database: Database) -> None:
    """Clients without credentials, at other addresses, claim all 20 MiB by their headers and send very few bytes."""
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    with running_service(database.api_dsn) as service, ExitStack() as strangers:
        client = service.sqs()
        url, port = client.create_queue(QueueName="orders")["QueueUrl"], int(service.url.rpartition(":")[2])
        for n, length in enumerate((6 * MIB, 6 * MIB, 6 * MIB, 2 * MIB)):
            connection = socket.create_connection(("127.0.0.1", port), source_address=(f"127.0.0.{n + 2}", 0))
            strangers.enter_context(connection)
            connection.sendall(head % length + b"x" * 100_000)
        for _ in range(20):
            client.send_message(QueueUrl=url, MessageBody=BODY[:100_000])
        counts = client.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
        assert counts["Attributes"]["ApproximateNumberOfMessages"] == "20"


PATH = "/_localstack/health"


def test_it_says_what_is_running_and_what_it_is(database: Database) -> None:
    with running_service(database.api_dsn, QUEUE_LOCALSTACK_HEALTH="true") as service, service.http() as http:
        expected = {"services": dict.fromkeys(SERVICES, "running"), "edition": "penstock", "version": __version__}
        answer = http.get(PATH)
        assert (answer.status_code, answer.json()) == (200, expected)
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            set_read_only(connection, database.name, "on")
        answer = http.get(PATH)
        assert (answer.status_code, set(answer.json()["services"].values())) == (200, {"error"})


@pytest.mark.parametrize(("setting", "status"), [("true", 200), ("false", 404)])
def test_it_needs_the_setting_and_no_credentials(database: Database, setting: str, status: int) -> None:
    settings = {"QUEUE_LOCALSTACK_HEALTH": setting, "QUEUE_ACCESS": "presence"}
    with running_service(database.api_dsn, **settings) as service, service.http() as http:
        assert http.get(PATH).status_code == status
        assert http.post(PATH, json={"action": "kill"}).status_code in {404, 405}
        assert http.get("/livez").status_code == 200
