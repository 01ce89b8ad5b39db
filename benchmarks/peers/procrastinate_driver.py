"""Drives procrastinate (see `driver`). The driver runs in an interpreter that has procrastinate."""

import logging
from collections.abc import Callable
from typing import Any

import procrastinate
from procrastinate import JobContext

from benchmarks.peers.driver import Driver, main


class Procrastinate(Driver):
    """Handles jobs by doing no work. procrastinate deletes finished jobs."""

    async def open(self) -> None:
        callers = int(self.order["senders"]) + int(self.order["receivers"])
        connector = procrastinate.PsycopgConnector(
            conninfo=self.order["dsn"], min_size=min(4, callers), max_size=callers + 4
        )
        logging.getLogger("procrastinate").setLevel(logging.ERROR)
        self._app = procrastinate.App(connector=connector)
        self._got: Callable[[list[str]], None] = self.record.record_received

        async def job(context: JobContext, body: str) -> None:  # noqa: ARG001 - the job carries a body
            self._got([str(context.job.id)])

        self._task: Any = self._app.task(name="job", queue=self.order["queue"], pass_context=True)(job)
        await self._app.open_async()

    async def close(self) -> None:
        await self._app.close_async()

    async def send(self, connection: int, count: int) -> list[str]:  # noqa: ARG002 - the pool chooses
        if count == 1:
            return [str(await self._task.defer_async(body=self.order["body"]))]
        return [str(n) for n in await self._task.batch_defer_async(*[{"body": self.order["body"]}] * count)]

    async def receive(self, on_received: Callable[[list[str]], None]) -> None:
        self._got = on_received
        await self._app.run_worker_async(
            queues=[self.order["queue"]],
            concurrency=int(self.order["receivers"]) * max(1, int(self.order["size"])),
            wait=True,
            delete_jobs="always",
            install_signal_handlers=False,
            fetch_job_polling_interval=0.05,
            listen_notify=False,
        )


if __name__ == "__main__":
    main(Procrastinate)
