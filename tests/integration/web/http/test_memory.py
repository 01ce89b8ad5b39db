"""Memory is bounded, however long the messages are and however many come at once. Source: decision 14, 120 MB."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.database import Database
from tests.support.programs.penstock_service import Service, running_service

MIB = 1_048_576
BODY = "x" * MIB
SENDERS = 40
SPARE_MIB = 50  # for all that is under way: each sender's message in its four forms would be 160


def at_most(service: Service) -> int:
    """The most that the process ever had in memory, in KiB: VmHWM of proc(5)."""
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the kernel does not tell")
def test_long_messages_from_many_at_once(database: Database) -> None:
    """40 MiB come in at once, and leave in answers of some MiB."""
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
