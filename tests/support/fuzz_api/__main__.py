"""Runs `make fuzz-api SECONDS=60`, in which Schemathesis sends random requests without access control and with bearer
keys.

The exit code is 1 if Schemathesis reports a failure, a response has status 5xx other than 503, or the service logs a
failed request. The service itself counts the statuses (/metrics).
"""

from __future__ import annotations

import os
import random
import re
import secrets
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Annotated
from uuid import uuid4

import httpx
import typer

from penstock_web.local.postgres import free_port
from tests.support.programs.penstock_up import COMMAND, Up, running

SCHEMATHESIS = Path(".tools/python/bin/schemathesis")
CONFIG = Path(__file__).with_name("schemathesis.toml")
# The service sends no webhooks, because their addresses are random. A client can create a deleted queue again
# immediately.
SETTINGS = {
    "QUEUE_HTTP_DELIVERY_ENABLED": "false",
    "QUEUE_RECREATE_INTERVAL_SECONDS": "0",
    "QUEUE_PURGE_INTERVAL_SECONDS": "0",
}
ACCESS = ("off", "sigv4")
QUEUES = ("fuzz", "fuzz-2", "fuzz.fifo", "kept", "kept.fifo")
REFILL_SECONDS = 3.0
GRACE_SECONDS = 300  # Schemathesis ends by itself.

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def main(
    seconds: Annotated[int, typer.Option(min=10, max=7200, help="duration for each value of QUEUE_ACCESS")] = 30,
    seed: Annotated[int, typer.Option(help="seed of an earlier run, to repeat that run; 0 selects a random seed")] = 0,
    access: Annotated[str, typer.Option(help="test only one value of QUEUE_ACCESS: off or sigv4")] = "",
) -> None:
    """Sends random requests and reports faults in the responses."""
    seed = seed or random.SystemRandom().randrange(1, 2**31)
    results = [fuzz(mode, seconds, seed) for mode in ACCESS if access in ("", mode)]
    sys.exit(0 if all(results) else 1)


def fuzz(access: str, seconds: int, seed: int) -> bool:
    """Returns whether all responses with the given value of QUEUE_ACCESS are as documented."""
    typer.echo(f"QUEUE_ACCESS={access}, {seconds} s, seed {seed}")
    encryption_key = b64encode(secrets.token_bytes(32)).decode()
    settings: dict[str, str] = {**SETTINGS, "QUEUE_ACCESS": access, "QUEUE_ENCRYPTION_KEY": encryption_key}
    with running("--ephemeral", port=free_port(), **settings) as up:
        certificate = run_keys(up, settings, "rotate-signing").partition(" ")[0]
        key = "" if access == "off" else run_keys(up, settings, "create", "--bearer").splitlines()[0].partition("=")[2]
        headers = {"Authorization": key} if key else {}
        ids = prepare(up, headers)
        with filled_again(up, headers):
            code = run_schemathesis(up, headers, config_of(ids, certificate), seconds, seed)
        counted = read_counts(up, headers)
        errors = [line for line in up.log().splitlines() if '"level": "ERROR"' in line]
    show(counted, errors)
    return code == 0 and not errors and not any(is_wrong(status) for _, status in counted)


def is_wrong(status: int) -> bool:
    return status >= 500 and status != 503


def show(counted: Counter[tuple[str, int]], errors: list[str]) -> None:
    """Prints the responses by status, the operations that never succeeded, and the service's errors."""
    statuses: Counter[int] = Counter()
    for (_, status), number in counted.items():
        statuses[status] += number
    succeeded = {operation for operation, status in counted if status < 300}
    failed = sorted({operation for operation, status in counted if status != 405} - succeeded)
    for line in errors[:20]:
        typer.echo(line)
    typer.echo("responses: " + ", ".join(f"{status}: {number:,}" for status, number in sorted(statuses.items())))
    typer.echo(f"operations that never succeeded: {', '.join(failed) or 'none'}")
    typer.echo(f"{statuses.total():,} requests, {len(errors)} errors in the log")


def run_keys(up: Up, settings: dict[str, str], *arguments: str) -> str:
    """Runs `penstock keys` and returns its first line."""
    done = subprocess.run(
        [*COMMAND, "keys", *arguments],
        env={**os.environ, **settings, "DATABASE_URL": up.dsn},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.partition("\n")[0]


def prepare(up: Up, headers: dict[str, str]) -> list[int]:
    """Creates the objects that schemathesis.toml names: queues with messages, and pending webhooks.

    Returns message ids.
    """
    with client(up, headers) as http:
        ids = [message_id for queue in QUEUES for message_id in fill(http, queue, 100)]
        bound = {"protocol": "http", "endpoint": "http://127.0.0.1:9/hook"}
        http.post("/events/fuzz.%23/subscriptions", json=bound).raise_for_status()
        for number in range(5):
            http.post("/events/fuzz.made", json={"message": number}).raise_for_status()
    return ids


def client(up: Up, headers: dict[str, str]) -> httpx.Client:
    return httpx.Client(base_url=f"{up.address}/v1", headers=headers, timeout=60)


def fill(http: httpx.Client, queue: str, count: int) -> list[int]:
    """Creates the queue if it does not exist, and sends messages. Returns their ids, or an empty list if a random
    request has deleted the queue.
    """
    http.post("/queues", json={"name": queue, "attributes": {"archive": "true"}})
    group = {"group_id": "a"} if queue.endswith(".fifo") else {}
    messages = [{"message": number, **group, **({"dedup_id": uuid4().hex} if group else {})} for number in range(count)]
    return list(http.post(f"/queues/{queue}/messages", json=messages).json().get("ids", []))


@contextmanager
def filled_again(up: Up, headers: dict[str, str]) -> Iterator[None]:
    """Refills the queues repeatedly, because random requests purge and delete queues."""
    ended = Event()

    def keep() -> None:
        with client(up, headers) as http:
            while not ended.wait(REFILL_SECONDS):
                for queue in QUEUES:
                    fill(http, queue, 10)

    thread = Thread(target=keep)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def config_of(ids: list[int], certificate: str) -> str:
    """Returns the configuration with real message ids and the id from the certificate's path."""
    key = certificate.rpartition("-")[2].partition(".")[0]
    config = CONFIG.read_text().replace("values = [1, 2, 3]", f"values = {[1, 2, 3, *ids]}")
    return config.replace('values = ["signing"]', f'values = ["{key}"]')


def run_schemathesis(up: Up, headers: dict[str, str], config: str, seconds: int, seed: int) -> int:
    """Runs Schemathesis and returns its exit code."""
    options = [f"--header={name}: {value}" for name, value in headers.items()]
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, CONFIG.name)
        file.write_text(config)
        command = [
            str(SCHEMATHESIS.absolute()), f"--config-file={file}", "run", f"{up.address}/v1/openapi.json",
            f"--max-time={seconds}", f"--seed={seed}", "--no-color", *options,
        ]  # fmt: skip
        return subprocess.run(command, cwd=place, timeout=seconds + GRACE_SECONDS, check=False).returncode


def read_counts(up: Up, headers: dict[str, str]) -> Counter[tuple[str, int]]:
    """Returns the service's counts of responses by operation and status."""
    page = httpx.get(f"{up.address}/metrics", headers=headers).raise_for_status().text
    line = re.compile(
        r'^penstock_http_requests_total\{method="(.+?)",path="(.+?)",status="(\d+)"\} (\d+)', re.MULTILINE
    )
    return Counter(
        {(f"{method} {path}", int(status)): int(number) for method, path, status, number in line.findall(page)}
    )


app()
