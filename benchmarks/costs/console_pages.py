"""Measures the response times of the console's pages on a large installation.

    python -m benchmarks.costs.console_pages                     # 100,000 queues, 5,000,000 messages in one of them
    python -m benchmarks.costs.console_pages --queues 1000 --messages 10000

The benchmark fills the database of a `penstock up --ephemeral` with SQL: queues, a topic with subscriptions, schedules,
messages, and dead letters in three groups. The benchmark then requests each page. A fresh response reads all its data
from the database. The other responses share this data for some seconds. The benchmark prints both times until the last
byte, in milliseconds, and the bytes on the wire (gzip).
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import closing
from statistics import median
from typing import Annotated, Final

import psycopg
import typer
import urllib3

from benchmarks.load.fleet import Fleet
from benchmarks.penstock import Penstock
from penstock_web.console.readings import MAX_SECONDS

CHUNK: Final = 10_000
PAGES: Final = (
    "",
    "/queues",
    "/queues?q=777",
    "/queues?sort=visible",
    "/queues?page=900",
    "/queues/large",
    "/queues/large?span=30d",
    "/queues/large/messages",
    "/queues/large/messages?text=nothing",
    "/queues/dead/failures",
    "/queues/dead/redrive",
    "/topics",
    "/topics/news",
    "/topics/news?body=%7B%22a%22%3A1%7D",
    "/schedules",
    "/schedules?q=s77",
    "/schedules?view=calendar",
    "/schedules/s77",
    "/deliveries",
    "/deliveries?view=attempts",
    "/system",
    "/keys",
    "/audit",
)
"""Lists the paths of the pages below /console."""
QUEUES: Final = """
with made as (
    insert into queue.queues (account_id, region, name, shards, attributes)
    select '000000000000', 'us-east-1', 'queue-' || n, 1, queue.default_attributes(false) from generate_series(1, %s) n
    returning queue_id, name),
leased as (
    insert into queue.lease (pos, first_id, visible_at, watermark, low, queue_id, receive_count, shard, ids)
    select 0, 1, '-infinity', '-infinity', 0, queue_id, 0, 0, '{}' from made)
insert into queue.noisy_neighbors (queue_id) select queue_id from made
"""
SUBSCRIPTIONS: Final = """
with topic as (
    insert into queue.topic (account_id, region, name, attributes)
    values ('000000000000', 'us-east-1', 'news', '{}') returning topic_id, arn)
insert into queue.subscription (subscription_id, topic_id, arn, owner, protocol, endpoint, attributes, confirmed)
select s.id, t.topic_id, t.arn || ':' || s.id, '000000000000', 'sqs', q.arn, '{}', true
from topic t, (select q.arn from queue.queues q where q.name like 'queue-%%' limit %s) q
cross join lateral (select gen_random_uuid() as id where q.arn is not null) s
"""
SCHEDULES: Final = """
insert into queue.schedule (account_id, region, name, api, expression_kind,
    expression, canonical, timezone, target, next_fire_at,
    due_at)
select '000000000000', 'us-east-1', 's' || n, 'rest', 'cron', e.text, e.text, 'UTC',
    '{"queue": "large", "message": {"a": 1}}', now() + interval '1 hour', now() + interval '1 hour'
from generate_series(1, %s) n, lateral (
    select format('%%s %%s,%%s * * *', n %% 60, n / 60 %% 12, 12 + n / 720 %% 12) as text) e
"""
WINDOWS: Final = """
with run as (
    insert into queue.metrics_run (mode, started_at, finished_at) values ('once', now(), now()) returning run_id),
hours as (
    select q.queue_id, date_trunc('hour', now()) - n * interval '1 hour' as at, n
    from queue.queues q, generate_series(1, 720) n where q.name = 'large'),
lags as (
    insert into queue.metrics_latency (window_seconds, queue_id, measure, starts_at, ends_at, count, sum_us, p50_us,
        p90_us, p95_us, p99_us, max_us, sketch_buckets, sketch_counts)
    select 3600, queue_id, 'lag', at, at + interval '1 hour', 100, 100, n, n, n, n * 50, n * 60, '{1}', '{100}'
    from hours)
insert into queue.metrics_window (window_seconds, queue_id, starts_at, ends_at, arrivals, deliveries, redeliveries,
    deletions, dead_lettered, purged, expired, moved, depth, waiting, received, oldest_age_us)
select 3600, queue_id, at, at + interval '1 hour', n, n, 0, n, 0, 0, 0, 0, n %% 100, 0, n, 1000000 + n from hours
where %s > 0
"""
"""Creates hourly rows for the large queue, in the format of the metrics job."""

app = typer.Typer(pretty_exceptions_enable=False)


def fill(dsn: str, queues: int, rows: int, messages: int) -> None:
    """Creates all rows, and prints the time of each step."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for what, statement, number in (
            ("queues", QUEUES, queues), ("subscriptions", SUBSCRIPTIONS, rows), ("schedules", SCHEDULES, rows),
        ):  # fmt: skip
            began = time.monotonic()
            connection.execute(statement.encode(), [number])
            print(f"{number:,} {what}: {time.monotonic() - began:.1f} s", file=sys.stderr)
        began = time.monotonic()
        connection.execute("select queue.create('large'), queue.create('dead')")
        body = '{"order": 1, "customer": "c", "lines": [{"sku": "a", "count": 2}]}'
        for _ in range(0, messages, CHUNK):
            connection.execute("select queue.send_batch('large', array_fill(%s::jsonb, %s))", [body, [CHUNK]])
        for group in ('{"order": 1}', '{"customer": {"zip": null}}', '{"sku": "a"}'):
            connection.execute("select queue.send_batch('dead', array_fill(%s::jsonb, %s))", [group, [CHUNK]])
        print(f"{messages:,} messages: {time.monotonic() - began:.1f} s", file=sys.stderr)
        connection.execute(WINDOWS.encode(), [rows])
        connection.execute("vacuum analyze")


def wait_until_measured(dsn: str) -> None:
    """Waits until the worker `measure` has measured all queues, and then runs ANALYZE, as autovacuum would."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        question = "select count(*) from queue.queues q left join queue.measurement m using (queue_id) where m is null"
        while connection.execute(question).fetchone() != (0,):
            time.sleep(1)
        connection.execute("vacuum analyze queue.measurement")


def measured(endpoint: str, times: int) -> list[dict[str, float | str]]:
    """Returns one row for each page, with times in milliseconds and sizes in bytes."""
    pool = urllib3.PoolManager(retries=False, timeout=60)

    def get(page: str) -> tuple[float, int]:
        began = time.perf_counter()
        headers = {"accept-encoding": "gzip"}
        answer = pool.request("GET", f"{endpoint}/console{page}", headers=headers, decode_content=False)
        if answer.status != 200:
            raise RuntimeError(f"{page}: {answer.status}")
        return (time.perf_counter() - began) * 1000, len(answer.data)

    for page in PAGES:  # compiles the templates
        get(page)
    time.sleep(MAX_SECONDS + 1)
    found: list[dict[str, float | str]] = []
    for page in PAGES:
        fresh, size = get(page)
        shared = median(get(page)[0] for _ in range(times))
        found.append({"page": page, "fresh_ms": round(fresh, 1), "shared_ms": round(shared, 1), "bytes": size})
        print(json.dumps(found[-1]), flush=True)
    return found


@app.command()
def main(
    queues: Annotated[int, typer.Option(metavar="N")] = 100_000,
    rows: Annotated[int, typer.Option(metavar="N", help="subscriptions, and schedules")] = 10_000,
    messages: Annotated[int, typer.Option(metavar="N", help="of the largest queue")] = 5_000_000,
    times: Annotated[int, typer.Option(metavar="N")] = 5,
) -> None:
    with closing(Fleet(1)) as fleet:
        service = Penstock(fleet)
        service.start()
        try:
            fill(service.dsn, queues, rows, messages)
            wait_until_measured(service.dsn)
            pages = measured(service.endpoint, times)
        finally:
            service.stop()
    slow = [page["page"] for page in pages if float(str(page["fresh_ms"])) > 300]
    print(f"over 300 ms: {slow or 'none'}")


if __name__ == "__main__":
    app()
