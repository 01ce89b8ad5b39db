"""Measures the cost of a Publish to topics with 10 to 10,000 queues: the time, and the CPU time of the service and
PostgreSQL.

python -m benchmarks.run --scenario fan_out
"""

from statistics import median
from time import perf_counter

import httpx
import psycopg

from benchmarks.load.wire import address_of
from benchmarks.penstock import Penstock
from benchmarks.report.rows import Row, text

from .hostile import count
from .study import Bench, Findings, Study

QUEUES = (10, 100, 1_000, 10_000)
COUNTED_QUEUES = 100  # the number of queues in which the study counts messages
ACCOUNT, REGION = "000000000000", "us-east-1"
# Every tenth subscription has a filter policy, which the message matches.
POLICY = '[[["kind", false, ["in", ["order"]]]]]'
MAKE = """
select queue.add_subscription(%(topic)s, gen_random_uuid(), %(account)s, 'sqs', (queue.create_queue(%(account)s,
        %(region)s, format('fan-%%s-%%s', %(queues)s::int, n), '{}', queue.default_attributes(false), null, 1, 0)).arn,
    '{}', case when n %% 10 = 0 then %(policy)s::jsonb end, null, null, 0, 0, null, null)
from generate_series(1, %(queues)s) n"""


def prepare(dsn: str, queues: int) -> str:
    """Creates a topic with this many queues, and returns the topic's ARN."""
    name = f"fan-{queues}"
    arn = f"arn:aws:sns:{REGION}:{ACCOUNT}:{name}"
    parameters = {"account": ACCOUNT, "region": REGION, "queues": queues, "policy": POLICY, "topic": arn}
    with psycopg.connect(dsn, autocommit=True) as connection:
        topic = (ACCOUNT, REGION, name, "{}", "{}")
        connection.execute("select queue.create_topic(%s, %s, %s, %s::jsonb, %s::jsonb)", topic)
        connection.execute(MAKE, parameters)
        connection.execute("vacuum analyze")
    return arn


def publish(http: httpx.Client, topic: str, body: str) -> float:
    """Publishes a message and returns the seconds until the response."""
    began = perf_counter()
    parameters = {
        "Action": "Publish", "Version": "2010-03-31", "TopicArn": topic, "Message": body,
        "MessageAttributes.entry.1.Name": "kind", "MessageAttributes.entry.1.Value.DataType": "String",
        "MessageAttributes.entry.1.Value.StringValue": "order",
    }  # fmt: skip
    http.post("/", data=parameters).raise_for_status()
    return perf_counter() - began


def publish_figures(penstock: Penstock, topic: str, queues: int, times: int, body: str) -> Row:
    """Returns the time and the CPU time of one Publish. If a queue lacks a published message, the row is invalid."""
    with httpx.Client(base_url=penstock.endpoint, timeout=120) as http:
        publish(http, topic, body)
        before = penstock.meter.read().cpu_seconds
        seconds = [publish(http, topic, body) for _ in range(times)]
        after = penstock.meter.read().cpu_seconds
    cpu = {group: (after[group] - before[group]) / times * 1e3 for group in before}
    middle = median(seconds) * 1e3
    counted_queues = range(1, queues + 1, max(1, queues // COUNTED_QUEUES))
    found = [count(address_of(penstock.endpoint, f"fan-{queues}-{number}")) for number in counted_queues]
    return {
        "publish ms": round(middle, 2),
        "longest ms": round(max(seconds) * 1e3, 1),
        "us a queue": round(middle / queues * 1e3, 1),
        "CPU ms": round(sum(cpu.values()), 2),
        **{f"{group} ms": round(used, 2) for group, used in cpu.items()},
        "verdict": "clean" if set(found) == {times + 1} else f"INVALID: {sorted(set(found))} of {times + 1}",
    }


def measure(bench: Bench) -> Findings:
    penstock = bench.another_penstock()
    rows: list[Row] = []
    for queues in sorted({bench.scaled(size) for size in QUEUES}):
        topic = prepare(penstock.dsn, queues)
        rows.append({"queues": queues, **publish_figures(penstock, topic, queues, bench.scaled(20, 3), "x" * 1_000)})
        print(text([rows[-1]]), flush=True)
    facts = penstock.facts() | {"pss_bytes": penstock.pss_bytes()}
    penstock.stop()
    valid = all(row["verdict"] == "clean" for row in rows)
    return Findings([{"system": "penstock", "facts": facts, "rows": rows, "marks": []}], valid)


STUDIES = [Study("fan_out", "a Publish to 10 to 10,000 queues", measure, alone=True)]
