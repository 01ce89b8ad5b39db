"""What the log of webhooks' attempts costs the delivery of webhooks.

    python -m benchmarks.costs.delivery_log                  # 8 rounds of 5,000 webhooks, with and without the log

Starts `penstock up --ephemeral` with an endpoint beside it. Messages are published while the endpoint is paused; the
measured time begins when it is resumed, and ends when every webhook was delivered and recorded. Rounds with
`queue.settle_webhooks` as it is and without its insert into queue.webhook_attempt take turns. Prints CPU seconds of the
server side for 1,000 webhooks of both, and the median of their quotients.
"""

from __future__ import annotations

import re
import time
from contextlib import closing
from statistics import median
from typing import Annotated, Any, Final, LiteralString

import psycopg
import typer

from benchmarks.load.fleet import Fleet
from benchmarks.penstock import Penstock

from .mappings import client, function

LOGGED: Final = re.compile(r",\s+logged as \(.*?on n\.notice_id = t\.notice_id\)", re.DOTALL)
DEFINITION: Final[LiteralString] = (
    "select pg_get_functiondef(p.oid) from pg_proc p where p.oid = 'queue.settle_webhooks'::regproc"
)
LEFT: Final[LiteralString] = "select count(*) from queue.webhook"
SUBSCRIBE: Final[LiteralString] = """
insert into queue.subscription (subscription_id, topic_id, arn, owner, protocol, endpoint, attributes, confirmed)
select s.id, t.topic_id, t.arn || ':' || s.id, t.account_id, 'http', %s, '{}', true
from queue.topic t cross join lateral (select gen_random_uuid() as id where t.arn is not null) s where t.arn = %s
"""
ACCOUNT: Final = "000000000000"
BATCH: Final = 10

app = typer.Typer(pretty_exceptions_enable=False)


def publish(sns: Any, topic: str, webhooks: int) -> None:
    """Publishes so many messages, each for the one subscription."""
    for first in range(0, webhooks, BATCH):
        entries = [{"Id": str(number), "Message": f"message {first + number}"} for number in range(BATCH)]
        sns.publish_batch(TopicArn=topic, PublishBatchRequestEntries=entries)


def delivery(service: Penstock, connection: psycopg.Connection[Any], endpoint: str) -> float:
    """Resumes the endpoint and returns the CPU seconds until all webhooks were delivered."""
    service.settle()
    before = sum(service.meter.read().cpu_seconds.values())
    connection.execute("select queue.resume_webhook_endpoint(%s, %s)", [ACCOUNT, endpoint])
    while connection.execute(LEFT).fetchone() != (0,):
        time.sleep(0.05)
    return sum(service.meter.read().cpu_seconds.values()) - before


def compare(service: Penstock, connection: psycopg.Connection[Any], rounds: int, webhooks: int) -> None:
    """Runs both in turn, after a round that does not count."""
    with_log = str((connection.execute(DEFINITION).fetchone() or [""])[0])
    without_log, replaced = LOGGED.subn("", with_log)
    if replaced != 1:
        raise ValueError("queue.settle_webhooks has no insert into the log, or it has another form")
    sns = client("sns", service.endpoint)
    topic = sns.create_topic(Name="t")["TopicArn"]
    costs: dict[str, list[float]] = {with_log: [], without_log: []}
    with function() as (url, _):
        connection.execute(SUBSCRIBE, [f"{url}/", topic])
        for number in range(-1, rounds):
            for definition in (with_log, without_log) if number % 2 else (without_log, with_log):
                connection.execute(definition.encode())
                connection.execute("select queue.pause_webhook_endpoint(%s, %s)", [ACCOUNT, f"{url}/"])
                publish(sns, topic, webhooks)
                cost = delivery(service, connection, f"{url}/") / webhooks * 1000
                if number >= 0:
                    costs[definition].append(cost)
    quotients = [one / other for one, other in zip(costs[with_log], costs[without_log], strict=True)]
    print(
        f"CPU of 1,000 webhooks: {median(costs[with_log]):.3f} s with the log, {median(costs[without_log]):.3f} s "
        f"without; quotient {median(quotients):.3f} ({min(quotients):.3f} to {max(quotients):.3f})"
    )


@app.command(help=(__doc__ or "").partition("\n")[0])
def main(
    rounds: Annotated[int, typer.Option(metavar="N")] = 8,
    webhooks: Annotated[int, typer.Option(metavar="N", help="of each run; a multiple of 10")] = 5_000,
) -> None:
    with closing(Fleet(1)) as fleet:
        service = Penstock(fleet, settings={"WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8"})
        service.start()
        try:
            with psycopg.connect(service.dsn, autocommit=True) as connection:
                compare(service, connection, rounds, webhooks)
        finally:
            service.stop()


if __name__ == "__main__":
    app()
