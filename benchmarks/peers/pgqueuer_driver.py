"""Drives pgqueuer (see `driver`). The driver runs in an interpreter that has pgqueuer."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from benchmarks.peers.driver import Driver, main


class Pgqueuer(Driver):
    """Handles jobs by doing no work. A queue is an entry point of pgqueuer."""

    async def open(self) -> None:
        callers = int(self.order["senders"]) + int(self.order["receivers"])
        dsn = dict(part.split("=", 1) for part in self.order["dsn"].split())
        self._pool: Any = await asyncpg.create_pool(
            host=dsn["host"], port=int(dsn["port"]), user=dsn["user"], database=dsn["dbname"],
            min_size=2, max_size=callers + 4,
        )  # fmt: skip
        self._queries = Queries(AsyncpgPoolDriver(self._pool))

    async def close(self) -> None:
        await self._pool.close()

    async def send(self, connection: int, count: int) -> list[str]:  # noqa: ARG002 - the pool chooses
        body = self.order["body"].encode()
        if count == 1:
            return [str(n) for n in await self._queries.enqueue(self.order["queue"], body)]
        entries = [self.order["queue"]] * count
        return [str(n) for n in await self._queries.enqueue(entries, [body] * count, [0] * count)]

    async def receive(self, on_received: Callable[[list[str]], None]) -> None:
        queuer = PgQueuer.from_asyncpg_pool(self._pool)

        async def job(found: Job) -> None:
            on_received([str(found.id)])

        queuer.entrypoint(self.order["queue"])(job)
        await queuer.qm.run(
            dequeue_timeout=timedelta(seconds=0.2),
            batch_size=int(self.order["receivers"]) * max(1, int(self.order["size"])),
        )


if __name__ == "__main__":
    main(Pgqueuer)
