"""Tests long polls at the gateway, whose concurrency is reserved, in real processes: senders find an environment.

"Configuring reserved concurrency for a function",
https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html
    a function never has more environments than it reserves; further requests are throttled
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import psycopg

from tests.support.database import Database
from tests.support.functions.invocations import json_request, running_stack
from tests.support.local_lambda.events import event_of, response_of
from tests.support.local_lambda.fleet import Fleet
from tests.support.wait import wait_until

URL = "http://sqs.internal/000000000000"
MOST = 4
WAITS = """
select exists (
    select from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and query like '% from queue.ready_queues(%')
"""


async def call(fleet: Fleet, action: str, **members: Any) -> Any:
    """Returns the answer of the gateway. Raises TooManyRequestsError where AWS would throttle."""
    event = event_of("http_api", json_request(action, **members))
    response = response_of(json.loads(await fleet.invoke("Gateway", event)))
    assert response.status == 200, response.body
    return json.loads(response.body or b"{}")


async def long_poll(fleet: Fleet) -> Any:
    return await call(fleet, "ReceiveMessage", QueueUrl=f"{URL}/empty", WaitTimeSeconds=20)


def is_waiting(database: Database) -> bool:
    """Returns whether a long poll has found nothing and asks repeatedly."""
    with psycopg.connect(database.dsn) as connection:
        return connection.execute(WAITS.encode()).fetchone() == (True,)


async def test_long_polls_leave_room_for_senders(database: Database, tmp_path: Path) -> None:
    """There are as many long polls as the gateway has environments. A quarter of them waits, and the others are
    answered at once."""
    variables = {"DATABASE_URL": database.pooled_dsn, "QUEUE_LAMBDA_WAIT_SECONDS": "20"}
    async with running_stack(tmp_path, {"GatewayConcurrency": str(MOST)}, variables, "Gateway") as fleet:
        for name in ("empty", "orders"):
            await call(fleet, "CreateQueue", QueueName=name)
        waiting = asyncio.create_task(long_poll(fleet))
        await asyncio.to_thread(wait_until, lambda: is_waiting(database))
        others = await asyncio.gather(*(long_poll(fleet) for _ in range(MOST - 1)))
        assert others == [{}] * (MOST - 1)
        await call(fleet, "SendMessage", QueueUrl=f"{URL}/orders", MessageBody="b")
        assert not waiting.done()
        await call(fleet, "SendMessage", QueueUrl=f"{URL}/empty", MessageBody="for the one that waits")
        assert [m["Body"] for m in (await waiting)["Messages"]] == ["for the one that waits"]
