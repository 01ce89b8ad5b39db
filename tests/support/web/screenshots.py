"""Takes the console's screenshots for docs/console: `python -m tests.support.web.screenshots FOLDER` (`make
screenshots`). With `--every`, takes each screen of an empty, a typical, a troubled and a large installation in three
widths and both themes instead, to look at after a change of the styles.

Two installations, one typical and one with problems, each have a separate service and database. The pictures contain
current figures and times, so each run makes different pictures.
"""

from __future__ import annotations

import json
import os
import re
import sys
from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import psycopg
from playwright.sync_api import Browser, ViewportSize, sync_playwright

from penstock_web.local.postgres import free_port
from tests.support.programs.penstock_up import Up, running
from tests.support.wait import wait_until
from tests.support.web.console import list_page_paths

SIZE: Final[ViewportSize] = {"width": 1280, "height": 800}
LARGEST_BYTES: Final = 600_000
"""The limit for all pictures together."""


class Picture(NamedTuple):
    """Defines a picture's file name, page below /console, and theme."""

    name: str
    path: str
    theme: Literal["light", "dark"] = "light"


TYPICAL: Final = (
    Picture("overview", ""),
    Picture("overview-dark", "", "dark"),
    Picture("queue", "/queues/orders"),
    Picture("settings", "/queues/orders/settings"),
    Picture("messages", "/queues/orders/messages"),
    Picture("calendar", "/schedules?view=calendar"),
    Picture("mappings", "/mappings"),
    Picture("system", "/system"),
    Picture("bus", "/buses/shop"),
)
TROUBLE: Final = (
    Picture("trouble", ""),
    Picture("failures", "/queues/orders-dead/failures"),
    Picture("redrive", "/queues/orders-dead/redrive"),
)


MONTH: Final = """
with run as (insert into queue.metrics_run (mode, finished_at) values ('once', now() - interval '12 minutes')),
hours as (
    select q.queue_id, date_trunc('hour', now()) - n * interval '1 hour' as at,
        (100 + 70 * sin(n * 0.2618) + (n * 7919) % 23)::int as sent
    from queue.queues q, generate_series(1, 700) n where q.name = 'orders'),
lags as (
    insert into queue.metrics_latency (window_seconds, queue_id, measure, starts_at, ends_at, count, sum_us, p50_us,
        p90_us, p95_us, p99_us, max_us, sketch_buckets, sketch_counts)
    select 3600, queue_id, 'lag', at, at + interval '1 hour', sent, sent, sent * 9000, sent * 20000, sent * 30000,
        sent * 60000, sent * 90000, '{1}', '{1}'
    from hours)
insert into queue.metrics_window (window_seconds, queue_id, starts_at, ends_at, arrivals, deliveries, redeliveries,
    deletions, dead_lettered, purged, expired, moved, depth, waiting, received, oldest_age_us)
select 3600, queue_id, at, at + interval '1 hour', sent, sent, 0, sent - sent % 5, 0, 0, 0, 0, sent / 3, 0, sent,
    sent * 700000
from hours
"""
"""Fills a month of a queue in the metrics job's format, with more messages by day than by night."""

MINUTES: Final = """
insert into queue.minute (queue_id, starts_at, sent, received, deleted, visible, in_flight, delayed, oldest_at,
    last_received_at)
select q.queue_id, at, sent, sent, sent - n % 2, 40 + n * 7 % 5, rate / 40, 0, at + interval '57 seconds',
    at + interval '59 seconds'
from (values ('orders', 240), ('mails', 60), ('thumbnails', 90), ('invoices', 12)) k (name, rate)
join queue.queues q using (name)
cross join generate_series(1, 75) n
cross join lateral (
    select date_trunc('minute', now()) - n * interval '1 minute' as at,
        (rate * (1 + 0.3 * sin(n / 9.0)) + n * 7919 % 5)::int as sent) m
on conflict (queue_id, starts_at) do nothing  -- the service has stored the minute that has just ended
"""
"""Fills more than an hour of processed queues in the service's form."""
ACCOUNT_MINUTES: Final = """
insert into queue.account_minute (account_id, region, starts_at, entered, finished)
select '000000000000', 'us-east-1', starts_at, sum(sent), sum(deleted) from queue.minute group by starts_at
on conflict (account_id, region, starts_at) do update set entered = excluded.entered, finished = excluded.finished
"""
"""Sums the minutes over all queues, as the service does."""
STALLED: Final = """
update queue.minute m
set sent = 3, received = 0, deleted = 0, in_flight = 0, visible = 3 * (13 - f.n), oldest_at = f.since,
    last_received_at = f.since
from (
    select q.queue_id, n, date_trunc('minute', now()) - n * interval '1 minute' as at,
        date_trunc('minute', now()) - interval '13 minutes' as since
    from queue.queues q, generate_series(1, 12) n where q.name = 'mails') f
where m.queue_id = f.queue_id and m.starts_at = f.at
"""
"""Stops the consumers of the mails."""
MAPPINGS: Final = """
update queue.event_source_mapping set last_result = case when failing_since is null then 'OK' else last_result end,
    mapping_id = case queue_arn when 'arn:aws:sqs:us-east-1:000000000000:thumbnails'
        then '00000000-0000-4000-8000-000000000001' else mapping_id end,
    invocations = 12480, failed_invocations = case when function_arn like '%imports%' then 12 else 0 end
"""
"""Creates mappings that have worked for a while."""


VIEWS: Final = (
    "/queues/orders?span=30d", "/queues/orders-dead", "/queues/orders-dead/failures", "/queues/orders-dead/redrive",
    "/schedules?view=calendar", "/deliveries?view=attempts", "/deliveries?view=waiting",
    "/buses/shop/events?group=c3", "/buses/shop/events?pattern=%5B",
)  # fmt: skip
"""Other views that `--every` takes, as paths below /console."""
WIDTHS: Final = (400, 1280, 2560)
THEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")


class PicturedInstallation:
    """Contains a running service and its clients."""

    def __init__(self, up: Up) -> None:
        import boto3
        import httpx

        keys = {"region_name": "us-east-1", "aws_access_key_id": "orders-worker", "aws_secret_access_key": "x"}
        self.url = up.address
        self.dsn = up.dsn
        self.sqs: Any = boto3.client("sqs", endpoint_url=up.address, **keys)
        self.http = httpx.Client(base_url=up.address, timeout=60)  # Another program can use the whole machine.

    def queue(self, name: str, dead: str | None = None) -> str:
        attributes = {}
        if dead is not None:
            arn = f"arn:aws:sqs:us-east-1:000000000000:{dead}"
            attributes["RedrivePolicy"] = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
        return str(self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])

    def schedule(self, name: str, queue: str, **when: str) -> None:
        target = {"queue": queue, "message": {"report": name}}
        self.http.post("/v1/schedules", json={"name": name, "target": target, **when}).raise_for_status()

    def send(self, url: str, bodies: Sequence[object]) -> None:
        for start in range(0, len(bodies), 10):
            self.sqs.send_message_batch(
                QueueUrl=url,
                Entries=[
                    {"Id": str(n), "MessageBody": json.dumps(body),
                     "MessageAttributes": {"region": {"DataType": "String", "StringValue": "eu"}}}
                    for n, body in enumerate(bodies[start : start + 10])
                ],
            )  # fmt: skip

    def receive(self, url: str, number: int, *, delete: bool) -> None:
        while number > 0:
            found = self.sqs.receive_message(
                QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=30 if delete else 0, WaitTimeSeconds=1
            ).get("Messages", [])
            if not found:
                return
            for message in found if delete else ():
                self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            number -= len(found)


def typical(there: PicturedInstallation) -> None:
    """Fills an installation: orders are processed, news is sent, and a report is scheduled for the night."""
    for name in ("orders-dead", "mails", "invoices", "thumbnails", "reports", "imports.fifo"):
        there.http.post("/v1/queues", json={"name": name}).raise_for_status()
    orders = there.queue("orders", "orders-dead")
    there.send(orders, [order(n) for n in range(160)])
    there.receive(orders, 120, delete=True)
    there.send(f"{there.url}/000000000000/mails", [{"to": f"customer{n}@example.com"} for n in range(40)])
    there.http.post("/v1/topics", json={"name": "news"}).raise_for_status()
    for queue, region in (("mails", "eu"), ("invoices", "us")):
        subscription = {"queue": queue, "filter": {"region": [region]}, "raw": True}
        there.http.post("/v1/topics/news/subscriptions", json=subscription).raise_for_status()
    for name, cron in (
        ("nightly-report", "0 3 * * *"),
        ("hourly-import", "0 * * * *"),
        ("weekly", "0 8 * * 1"),
        ("heartbeat", "* * * * *"),
        ("invoices-eu", "30 6 * * 1-5"),
        ("invoices-us", "30 6 * * 1-5"),
        ("stock-count", "0 12,18 * * *"),
    ):
        there.schedule(name, "reports", cron=cron)
    hook = {"protocol": "https", "endpoint": "https://hooks.example.com/orders"}
    there.http.post("/v1/events/order.*/subscriptions", json=hook).raise_for_status()
    there.http.post("/v1/events/order.paid", json={"message": order(1)}).raise_for_status()
    for queue, more in (
        ("thumbnails", {"batch_size": 100, "window_secs": 5, "filters": [{"body": {"kind": ["photo", "scan"]}}]}),
        ("invoices", {"report_failures": True, "max_concurrency": 20}),
        ("imports.fifo", {}),
    ):
        mapping = {"queue": queue, "function": f"{queue.partition('.')[0]}-handler", **more}
        there.http.post("/v1/mappings", json=mapping).raise_for_status()
    publish_orders(there)
    with psycopg.connect(there.dsn) as connection:
        connection.execute(MONTH.encode())
        connection.execute(MINUTES.encode())
        connection.execute(ACCOUNT_MINUTES.encode())
        connection.execute(MAPPINGS.encode())
    measured(there, "orders", 40)
    wait_until(lambda: there.http.get("/v1/queues/orders/receivers").json())


def publish_orders(there: PicturedInstallation) -> None:
    """Publishes events on a bus with a running, a stopped and a failing subscriber."""
    there.http.post("/v1/buses", json={"name": "shop", "retention_days": 30, "description": "all orders"})
    paid = {"DATA": {"detail-type": ["order.paid"]}}
    for name, more in (
        ("billing", {"target": "invoices", "filters": paid, "type": "FIFO"}),
        ("archive", {"target": "reports", "stopped": True}),
        ("mailing", {"target": "nowhere", "configuration": {"OnFailureConfiguration": {}}}),
    ):
        there.http.post("/v1/buses/shop/subscribers", json={"name": name, **more}).raise_for_status()
    kinds = ("order.placed", "order.paid")
    events = [
        {"source": "web", "detail_type": kinds[n % 2], "detail": order(n), "group_id": f"c{n % 13}"} for n in range(60)
    ]
    there.http.post("/v1/buses/shop/events", json=events).raise_for_status()
    wait_until(lambda: there.http.get("/v1/buses/shop/subscribers/mailing").json()["last_failure"])


def trouble(there: PicturedInstallation) -> None:
    """Makes handlers fail in three ways, and moves one message back, to show whether the message succeeds now."""
    typical(there)
    orders = there.queue("orders", "orders-dead")
    failing = [{"order": n, "error": "payment timed out", "customer": f"c{n}"} for n in range(26)]
    failing += [{"order": n, "address": {"zip": None, "city": "Springfield"}} for n in range(11)]
    failing += [{"sku": f"A-{n}", "left": 0} for n in range(6)]
    there.send(orders, failing)
    for _ in range(2):
        there.receive(orders, 400, delete=False)
    there.queue("retired")
    there.schedule("to-a-queue-that-is-gone", "retired", every="1s")
    there.http.delete("/v1/queues/retired").raise_for_status()
    wait_until(lambda: there.http.get("/v1/schedules/to-a-queue-that-is-gone").json().get("last_error"))
    hook = {"protocol": "http", "endpoint": "http://127.0.0.1:1/orders"}
    there.http.post("/v1/events/order.*/subscriptions", json=hook).raise_for_status()
    for number in range(3):
        there.http.post("/v1/events/order.paid", json={"message": order(number)}).raise_for_status()
    wait_until(lambda: len(there.http.get("/v1/deliveries/attempts").json()["attempts"]) > 3)
    move = {"filter": {"text": "payment"}, "per_second": 50, "canary": 1}
    there.http.post("/v1/queues/orders-dead/moves", json=move).raise_for_status()
    wait_until(lambda: moves(there)[0]["state"] == "waiting")
    with psycopg.connect(there.dsn) as connection:
        connection.execute(STALLED.encode())


def large(there: PicturedInstallation) -> None:
    """Adds 3,000 queues with names of the greatest length to an installation with problems."""
    trouble(there)
    with psycopg.connect(there.dsn) as connection:
        connection.execute(
            "select queue.create(left(format('tenant-%s-%s', n, repeat('invoices-and-', 9)), 80))"
            " from generate_series(1, 3000) n"
        )


def order(number: int) -> dict[str, object]:
    lines = [{"sku": f"A-{number % 7}", "count": 1 + number % 3}]
    return {"order": 4000 + number, "customer": f"c{number % 13}", "lines": lines, "total": 19.5 * (1 + number % 3)}


def moves(there: PicturedInstallation) -> Any:
    return there.http.get("/v1/queues/orders-dead/moves").json()["moves"]


def measured(there: PicturedInstallation, name: str, messages: int) -> None:
    """Waits until the worker has measured the queue."""

    def backlog() -> Any:
        queues = there.http.get("/v1/metrics/lag").json()["queues"]
        return {queue["name"]: (queue["verdict"] or {}).get("backlog") for queue in queues}.get(name)

    wait_until(lambda: backlog() == messages)


@contextmanager
def installation() -> Iterator[PicturedInstallation]:
    settings = {"QUEUE_METRICS_INTERVAL_MS": "500", "QUEUE_LAMBDA_ENDPOINT": "http://127.0.0.1:1"}
    with running("--ephemeral", port=free_port(), **settings) as up:
        yield PicturedInstallation(up)


def take(browser: Browser, there: PicturedInstallation, pictures: tuple[Picture, ...], folder: Path) -> None:
    for picture in pictures:
        context = browser.new_context(viewport=SIZE, color_scheme=picture.theme)
        page = context.new_page()
        page.goto(f"{there.url}/console{picture.path}")
        # Playwright writes only PNG and JPEG. WebP files are half as large.
        shot = context.new_cdp_session(page).send("Page.captureScreenshot", {"format": "webp", "quality": 82})
        (folder / f"{picture.name}.webp").write_bytes(b64decode(shot["data"]))
        context.close()


def list_every_path() -> list[str]:
    names = {
        "name": "orders", "topic": "news", "schedule": "nightly-report", "rest": "none", "bus": "shop",
        "subscriber": "mailing",
    }  # fmt: skip
    pages = list_page_paths(mapping="00000000-0000-4000-8000-000000000001", **names)
    return [*pages, *(f"/console{view}" for view in VIEWS)]


def take_every(browser: Browser, there: PicturedInstallation, folder: Path) -> None:
    """Takes the visible and the lower part of each screen as `WIDTH-THEME-SCREEN.png`."""
    folder.mkdir(parents=True, exist_ok=True)
    for width, theme in product(WIDTHS, THEMES):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        page = context.new_page()
        for path in list_every_path():
            page.goto(f"{there.url}{path}")
            name = re.sub(r"[^a-z0-9]+", "-", path.removeprefix("/console").strip("/")) or "overview"
            page.screenshot(path=folder / f"{width}-{theme}-{name}.png", full_page=True)
        context.close()


def main() -> None:
    """Writes the pictures. Raises SystemExit if the pictures are too large for the repository."""
    *options, name = sys.argv[1:]
    folder = Path(name)
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=["--no-sandbox"]
        )
        if options == ["--every"]:
            for kind, fill in (("empty", None), ("typical", typical), ("trouble", trouble), ("large", large)):
                with installation() as there:
                    if fill is not None:
                        fill(there)
                    take_every(browser, there, folder / kind)
            return
        for old in folder.glob("*.webp"):
            old.unlink()
        for fill, pictures in ((typical, TYPICAL), (trouble, TROUBLE)):
            with installation() as there:
                fill(there)
                take(browser, there, pictures, folder)
        browser.close()
    size = sum(file.stat().st_size for file in folder.glob("*.webp"))
    sys.stdout.write(f"{size:,} bytes in {folder}\n")
    if size > LARGEST_BYTES:
        sys.exit(f"the pictures have more than {LARGEST_BYTES:,} bytes")


if __name__ == "__main__":
    main()
