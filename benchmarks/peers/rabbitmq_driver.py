"""Drives RabbitMQ (see `driver`)."""

import asyncio
import os
from collections.abc import Callable

from benchmarks.peers.amqp import Channel
from benchmarks.peers.driver import Driver, main


class Consumer:
    """Acknowledges messages in batches of the scenario's size, and reports their ids."""

    def __init__(self, size: int, on_received: Callable[[list[str]], None]) -> None:
        self._size = size
        self._got = on_received
        self._held: list[str] = []
        self.channel = Channel(self._delivered)

    def _delivered(self, message_id: str, tag: int) -> None:
        self._held.append(message_id)
        if len(self._held) == self._size:
            self._acknowledge(tag)
        elif len(self._held) == 1:
            # The last batch can be smaller, so the driver acknowledges that batch after a pause without messages.
            asyncio.get_running_loop().call_later(0.02, self._acknowledge_rest, message_id)
        self._tag = tag

    def _acknowledge_rest(self, first: str) -> None:
        if self._held and self._held[0] == first:
            self._acknowledge(self._tag)

    def _acknowledge(self, tag: int) -> None:
        self.channel.acknowledge(tag)
        self._got(self._held)
        self._held = []


class Rabbitmq(Driver):
    """Publishes with confirms. Each caller uses its own connection."""

    async def open(self) -> None:
        self._numbers, self._body = 0, self.order["body"].encode()
        self._channels = [await self._channel(Channel()) for _ in range(max(1, int(self.order["senders"])))]
        await self._channels[0].declare(self.order["queue"], self.order["kind"])
        for channel in self._channels:
            await channel.confirm()

    async def _channel(self, channel: Channel) -> Channel:
        await asyncio.get_running_loop().create_connection(lambda: channel, "127.0.0.1", self.order["port"])
        await channel.open()
        return channel

    async def close(self) -> None:
        for channel in self._channels:
            channel.close()

    async def send(self, connection: int, count: int) -> list[str]:
        ids = [f"{os.getpid()}-{self._numbers + n}" for n in range(count)]
        self._numbers += count
        await self._channels[connection].publish(self.order["queue"], [(each, self._body) for each in ids])
        return ids

    async def receive(self, on_received: Callable[[list[str]], None]) -> None:
        size = max(1, int(self.order["size"]) or 10)
        for _ in range(int(self.order["receivers"])):
            consumer = Consumer(size, on_received)
            self._channels.append(await self._channel(consumer.channel))
            await consumer.channel.consume(self.order["queue"], prefetch=size if size == 1 else 2 * size)
        await asyncio.Event().wait()


if __name__ == "__main__":
    main(Rabbitmq)
