"""Measures two costs of event source mappings, which are the time from a send to its invocation and the CPU time of
idle mappings.

    python -m benchmarks.costs.mappings                                # 20 messages a second for a minute
    python -m benchmarks.costs.mappings --idle 10000      # also 10,000 mappings of empty queues

The benchmark starts `penstock up --ephemeral` and a function without work. The benchmark prints the p50, the p99 and
the maximum of the time from the start of SendMessage until the function receives the event. The benchmark also prints
the server side's CPU without messages.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import quantiles
from typing import Annotated, Any, Final

import boto3
import psycopg
import typer

from benchmarks.load.fleet import Fleet
from benchmarks.penstock import Penstock

SETTLE_SECONDS: Final = 75.0
"""After this many seconds without messages, the process registers long polls less often."""
IDLE: Final = """
with made as (
    insert into queue.queues (account_id, region, name, shards, attributes)
    select '000000000000', 'us-east-1', 'idle-' || n, 1, queue.default_attributes(false) from generate_series(1, %s) n
    returning queue_id, arn),
leased as (
    insert into queue.lease (pos, first_id, visible_at, watermark, low, queue_id, receive_count, shard, ids)
    select 0, 1, '-infinity', '-infinity', 0, queue_id, 0, 0, '{}' from made),
noise as (
    insert into queue.noisy_neighbors (queue_id) select queue_id from made)
insert into queue.event_source_mapping (account_id, region, queue_arn, function_arn, options, enabled)
select '000000000000', 'us-east-1', arn, 'arn:aws:lambda:us-east-1:000000000000:function:f', '{}', true from made
"""

app = typer.Typer(pretty_exceptions_enable=False)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """This error occurs when a client closes an unused connection, and can be ignored."""


@contextmanager
def function() -> Iterator[tuple[str, list[float]]]:
    """Runs an endpoint for Lambda or webhooks that does no work.

    Yields the endpoint's address, and the times in seconds from each send until the message's arrival at the endpoint.
    """
    took: list[float] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            now = time.time()
            took.extend(now - float(record["body"]) for record in event.get("Records", []))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            """Writes no log."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", took
    finally:
        server.shutdown()
        server.server_close()


def client(name: str, endpoint: str) -> Any:
    return boto3.client(
        name, endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x"
    )  # fmt: skip


def measure_latency(endpoint: str, took: list[float], rate: int, seconds: int) -> None:
    """Sends at a fixed rate without waiting for deliveries, and prints the delivery times."""
    sqs = client("sqs", endpoint)
    url = sqs.create_queue(QueueName="busy")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    client("lambda", endpoint).create_event_source_mapping(EventSourceArn=arn, FunctionName="f")
    sqs.send_message(QueueUrl=url, MessageBody=str(time.time()))
    while not took:
        time.sleep(0.01)
    took.clear()
    began = time.monotonic()
    for number in range(rate * seconds):
        time.sleep(max(0.0, began + number / rate - time.monotonic()))
        sqs.send_message(QueueUrl=url, MessageBody=str(time.time()))
    while len(took) < rate * seconds:
        time.sleep(0.01)
    percentiles = quantiles(took, n=100)
    print(
        f"{len(took)} messages at {rate} a second: p50 {percentiles[49] * 1000:.1f} ms, "
        f"p99 {percentiles[98] * 1000:.1f} ms, longest {max(took) * 1000:.1f} ms",
        flush=True,
    )


def measure_idle(penstock: Penstock, mappings: int, seconds: int) -> None:
    """Prints the CPU without messages, and with one message a second. Measures both loads with and without the
    mappings.
    """
    with psycopg.connect(penstock.dsn, autocommit=True) as connection:
        connection.execute(IDLE.encode(), [mappings])
        connection.execute("notify penstock, 'mappings'")
        connection.execute("select queue.create('another')")
        time.sleep(SETTLE_SECONDS)
        print(f"{mappings} idle mappings, share of a core: {cpu_shares(penstock, seconds)}", flush=True)

        def send() -> None:
            connection.execute("select queue.send('another', '1')")

        print(f"the same with one message a second: {cpu_shares(penstock, seconds, send)}", flush=True)
        connection.execute("update queue.event_source_mapping set enabled = false")
        connection.execute("notify penstock, 'mappings'")
        time.sleep(SETTLE_SECONDS)
        print(f"one message a second without the mappings: {cpu_shares(penstock, seconds, send)}")


def cpu_shares(penstock: Penstock, seconds: int, each_second: Callable[[], None] = lambda: None) -> str:
    """Returns the CPU time of the server side during `seconds`."""
    before = penstock.meter.read().cpu_seconds
    for _ in range(seconds):
        time.sleep(1)
        each_second()
    after = penstock.meter.read().cpu_seconds
    return ", ".join(f"{name} {(after[name] - before[name]) / seconds:.2%}" for name in after)


@app.command(help=(__doc__ or "").partition("\n")[0])
def main(
    rate: Annotated[int, typer.Option(help="messages a second")] = 20,
    seconds: Annotated[int, typer.Option(help="how long each measurement lasts")] = 60,
    idle: Annotated[int, typer.Option(help="mappings of empty queues")] = 0,
) -> None:
    with function() as (endpoint, took), closing(Fleet(1)) as fleet:
        penstock = Penstock(fleet, settings={"QUEUE_LAMBDA_ENDPOINT": endpoint})
        penstock.start()
        try:
            measure_latency(penstock.endpoint, took, rate, seconds)
            if idle:
                measure_idle(penstock, idle, seconds)
        finally:
            penstock.stop()


if __name__ == "__main__":
    app()
