"""What a Publish costs: time, and CPU of service and PostgreSQL, for topics with more and more queues.

python -m benchmarks.fan_out --queues 10 100 1000 10000
"""

import argparse
from collections.abc import Sequence
from statistics import median
from time import perf_counter
from typing import cast

import httpx
import psycopg

from .fleet import Fleet
from .penstock import Penstock

ACCOUNT, REGION = "000000000000", "us-east-1"
# Every tenth subscription has a filter policy, which the message matches.
POLICY = '[[["kind", false, ["in", ["order"]]]]]'
MAKE = """
select queue.add_subscription(%(topic)s, gen_random_uuid(), %(account)s, 'sqs', (queue.create_queue(%(account)s,
        %(region)s, format('fan-%%s-%%s', %(queues)s::int, n), '{}', queue.default_attributes(false), null, 1, 0)).arn,
    '{}', case when n %% 10 = 0 then %(policy)s::jsonb end, null, null, 0, 0)
from generate_series(1, %(queues)s) n"""


def prepare(dsn: str, queues: int) -> str:
    """A topic with so many queues; its ARN."""
    name = f"fan-{queues}"
    arn = f"arn:aws:sns:{REGION}:{ACCOUNT}:{name}"
    given = {"account": ACCOUNT, "region": REGION, "queues": queues, "policy": POLICY, "topic": arn}
    with psycopg.connect(dsn, autocommit=True) as connection:
        topic = (ACCOUNT, REGION, name, "{}", "{}")
        connection.execute("select queue.create_topic(%s, %s, %s, %s::jsonb, %s::jsonb)", topic)
        connection.execute(MAKE, given)
        connection.execute("vacuum analyze")
    return arn


def publish(http: httpx.Client, topic: str, body: str) -> float:
    """Seconds until the answer."""
    began = perf_counter()
    given = {
        "Action": "Publish", "Version": "2010-03-31", "TopicArn": topic, "Message": body,
        "MessageAttributes.entry.1.Name": "kind", "MessageAttributes.entry.1.Value.DataType": "String",
        "MessageAttributes.entry.1.Value.StringValue": "order",
    }  # fmt: skip
    http.post("/", data=given).raise_for_status()
    return perf_counter() - began


def measure(penstock: Penstock, queues: int, times: int, body: str) -> str:
    """A line of the table."""
    topic = prepare(penstock.dsn, queues)
    with httpx.Client(base_url=penstock.endpoint, timeout=120) as http:
        publish(http, topic, body)
        before = penstock.meter.read().cpu_seconds
        seconds = [publish(http, topic, body) for _ in range(times)]
        after = penstock.meter.read().cpu_seconds
    cpu = {group: (after[group] - before[group]) / times * 1e3 for group in before}
    spent = sum(cpu.values())
    shares = ", ".join(f"{group} {used:.1f}" for group, used in cpu.items())
    middle = median(seconds) * 1e3
    return (
        f"{queues:6} queues: {middle:8.1f} ms ({middle / queues * 1e3:6.1f} µs a queue, longest "
        f"{max(seconds) * 1e3:.1f} ms), CPU {spent:8.1f} ms ({shares})"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queues", type=int, nargs="+", default=[10, 100, 1_000, 10_000])
    parser.add_argument("--times", type=int, default=20, help="publishes a topic")
    parser.add_argument("--body-bytes", type=int, default=1_000)
    options = parser.parse_args()
    penstock = Penstock(Fleet(1))
    penstock.start()
    try:
        for queues in cast("Sequence[int]", options.queues):
            print(measure(penstock, queues, options.times, "x" * options.body_bytes), flush=True)
    finally:
        penstock.stop()


if __name__ == "__main__":
    main()
