"""Measures the latency of an idle queue: a consumer long polls, and a producer sends a message each time the consumer
waits again.

A sample is the time from the send request until the end of the receive response, measured by one clock.
"""

import asyncio
import random
from time import perf_counter

from benchmarks.load.connection import Connection, Flow
from benchmarks.load.flows import Phase, delete
from benchmarks.load.wire import Request, decode_entry, decode_receive, md5_of

MAX_POLL_SECONDS = 20  # AWS's limit for WaitTimeSeconds
PAUSE_SECONDS = (0.005, 0.025)


class IdleQueue:
    """Runs the consumer and the producer for `samples` messages."""

    def __init__(self, phase: Phase, samples: int) -> None:
        self._phase = phase
        self._samples = samples
        self._polling = asyncio.Event()
        self._written_at: dict[str, float] = {}

    async def run(self, consumer: Connection, producer: Connection) -> None:
        """Runs both. Raises the error of a connection that ends early."""
        sending = asyncio.create_task(self._produce(producer))
        consumer.start(self._consume())
        await asyncio.wait({sending, consumer.finished}, return_when=asyncio.FIRST_EXCEPTION)
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        consumer.finished.result()

    def _consume(self) -> Flow:
        phase, request = self._phase, self._phase.requests.receive(1, MAX_POLL_SECONDS)
        while len(phase.tally.waits_seconds) < self._samples and not phase.progress.stalled:
            self._polling.set()
            answer = phase.decoded(decode_receive, (yield request))
            now = perf_counter()
            messages = answer.messages if answer is not None else []
            for message in messages:
                phase.tally.received.append(message.message_id)
                phase.tally.waits_seconds.append(now - self._written_at[message.body])
            if messages:
                phase.progress.received(len(messages))
                yield from delete(phase, messages)

    async def _produce(self, connection: Connection) -> None:
        dice = random.Random(1)
        for number in range(self._samples):
            body = f"{number:08d}" + self._phase.body[8:]
            request = self._phase.requests.send(body)
            await self._polling.wait()
            self._polling.clear()
            await asyncio.sleep(dice.uniform(*PAUSE_SECONDS))
            self._written_at[body] = perf_counter()
            connection.start(self._send(request, body))
            await connection.finished

    def _send(self, request: Request, body: str) -> Flow:
        answer = yield request
        entry = self._phase.decoded(decode_entry, answer)
        if entry is None:
            return
        self._phase.tally.acknowledged.append(entry.message_id)
        if entry.md5_of_body != md5_of(body):
            self._phase.tally.record_bad_response(answer or b"")
