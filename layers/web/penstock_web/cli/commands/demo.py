"""Implements `penstock demo`: sends and receives messages with boto3. The command shows that the service works, and
measures roughly how fast.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import typer

from penstock_web.cli.options import Endpoint

MESSAGES: Final = 1000
_BATCH: Final = 10
_THREADS: Final = 4

app = typer.Typer()


@app.command("demo", help="send, receive and delete messages with boto3")
def demo(endpoint: Endpoint = None) -> int:
    """Sends, receives and deletes 1,000 messages. Returns 0 if every message arrives, and 1 otherwise."""
    from botocore.exceptions import BotoCoreError, ClientError, SSLError
    from botocore.parsers import ResponseParserError

    from penstock_web.cli.client import RestClient
    from penstock_web.cli.printing import print_lines
    from penstock_web.local_error import LocalError, explain_tls_of_boto3

    address = RestClient(endpoint).endpoint
    try:
        client = _client(address)
    except ValueError as error:  # boto3 does not accept the endpoint's address.
        print_lines([f"penstock demo: {error}"])
        return 1
    try:
        return _round_trip(client)
    except SSLError as error:
        raise LocalError(explain_tls_of_boto3(address, error)) from None
    except ResponseParserError:
        print_lines([f"penstock demo: the response is not from SQS. Check the address {address}"])
        return 1
    except (BotoCoreError, ClientError) as error:
        print_lines([f"penstock demo: {error}"])
        return 1


def _client(endpoint: str) -> Any:
    import boto3
    from botocore.config import Config

    from penstock_web.local_error import find_authorities

    credentials = {"aws_access_key_id": "demo", "aws_secret_access_key": "demo"}
    config = Config(max_pool_connections=_THREADS, retries={"total_max_attempts": 2})
    return boto3.client(
        "sqs",
        endpoint_url=endpoint,
        region_name="us-east-1",
        config=config,
        verify=find_authorities(),
        **credentials,
    )


def _round_trip(client: Any) -> int:
    url = client.create_queue(QueueName=f"demo-{uuid.uuid4().hex[:8]}")["QueueUrl"]
    print(f"queue    {url}")
    try:
        bodies = [f"message {number}" for number in range(MESSAGES)]
        batches = [bodies[at : at + _BATCH] for at in range(0, MESSAGES, _BATCH)]
        with ThreadPoolExecutor(_THREADS) as pool:
            _print_rate("sent", MESSAGES, lambda: list(pool.map(lambda batch: _send(client, url, batch), batches)))
            received: list[str] = []
            _print_rate("received and deleted", MESSAGES, lambda: received.extend(_drain_all(pool, client, url)))
    finally:
        client.delete_queue(QueueUrl=url)
    missing = len(set(bodies) - set(received))
    print("received every message" if not missing else f"{missing} of {MESSAGES} messages are missing")
    return 1 if missing else 0


def _send(client: Any, url: str, bodies: list[str]) -> None:
    entries = [{"Id": str(number), "MessageBody": body} for number, body in enumerate(bodies)]
    client.send_message_batch(QueueUrl=url, Entries=entries)


def _drain_all(pool: ThreadPoolExecutor, client: Any, url: str) -> list[str]:
    drained = pool.map(lambda _: _drain(client, url), range(_THREADS))
    return [body for bodies in drained for body in bodies]


def _drain(client: Any, url: str) -> list[str]:
    """Receives and deletes messages until the queue is empty."""
    bodies: list[str] = []
    while messages := client.receive_message(QueueUrl=url, MaxNumberOfMessages=_BATCH).get("Messages"):
        entries = [{"Id": str(n), "ReceiptHandle": m["ReceiptHandle"]} for n, m in enumerate(messages)]
        client.delete_message_batch(QueueUrl=url, Entries=entries)
        bodies += [m["Body"] for m in messages]
    return bodies


def _print_rate(what: str, count: int, work: Callable[[], object]) -> None:
    started = time.perf_counter()
    work()
    seconds = time.perf_counter() - started
    print(f"{what} {count} messages in {seconds:.2f} s, {count / seconds:,.0f} a second, from one Python process")
