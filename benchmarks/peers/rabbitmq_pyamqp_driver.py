"""Drives RabbitMQ with py-amqp, with one thread for each connection (see `driver`).

To compare the clients, RABBITMQ_DRIVER=rabbitmq_pyamqp_driver selects this driver instead of `rabbitmq_driver`
(docs/decisions/0015-libraries-beside-the-hot-path.md).
"""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import amqp

from benchmarks.peers.driver import Driver, Order, main

PAUSE_SECONDS = 0.02
"""If no message arrives for this time, the driver acknowledges the rest of a batch."""


class Publisher:
    """Publishes on a connection, and waits for the confirms of the broker."""

    def __init__(self, order: Order) -> None:
        self._connection = connect(order)
        self.channel = self._connection.channel()
        self._queue, self._body = order["queue"], order["body"].encode()
        self.channel.confirm_select()
        self.channel.events["basic_ack"].add(self._confirmed)
        self._sent = self._confirmed_until = 0

    def _confirmed(self, tag: int, multiple: bool) -> None:
        self._confirmed_until = tag if multiple else self._confirmed_until + 1

    def publish(self, ids: list[str]) -> list[str]:
        """Publishes messages with these ids, and waits until the broker has confirmed all of them."""
        for each in ids:
            message = amqp.Message(self._body, message_id=each, delivery_mode=2)
            self.channel.basic_publish(message, routing_key=self._queue)
        self._sent += len(ids)
        while self._confirmed_until < self._sent:
            self._connection.drain_events()
        return ids


class Rabbitmq(Driver):
    """Publishes with confirms. Each caller uses its own connection and thread."""

    async def open(self) -> None:
        kind = self.order["kind"]
        arguments = {"x-queue-mode": "lazy"} if kind == "lazy" else {"x-queue-type": kind}
        self._numbers, self._close_unused = 0, False
        self._publishers = [Publisher(self.order) for _ in range(max(1, int(self.order["senders"])))]
        self._publishers[0].channel.queue_declare(
            self.order["queue"], durable=True, auto_delete=False, arguments=arguments
        )
        self._threads = ThreadPoolExecutor(len(self._publishers) + int(self.order["receivers"]))

    async def close(self) -> None:
        self._close_unused = True

    async def send(self, connection: int, count: int) -> list[str]:
        ids = [f"{os.getpid()}-{self._numbers + n}" for n in range(count)]
        self._numbers += count
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._publishers[connection].publish, ids)

    async def receive(self, on_received: Callable[[list[str]], None]) -> None:
        loop = asyncio.get_running_loop()
        consumers = (
            loop.run_in_executor(self._threads, self._consume, on_received) for _ in range(int(self.order["receivers"]))
        )
        await asyncio.gather(*consumers)

    def _consume(self, on_received: Callable[[list[str]], None]) -> None:
        size = max(1, int(self.order["size"]) or 10)
        connection, held = connect(self.order), list[amqp.Message]()
        channel = connection.channel()

        def acknowledge() -> None:
            channel.basic_ack(held[-1].delivery_tag, multiple=True)
            on_received([message.properties["message_id"] for message in held])
            held.clear()

        def delivered(message: amqp.Message) -> None:
            held.append(message)
            if len(held) >= size:
                acknowledge()

        channel.basic_qos(0, size if size == 1 else 2 * size, a_global=False)
        channel.basic_consume(self.order["queue"], callback=delivered)
        while not self._close_unused:
            try:
                connection.drain_events(timeout=PAUSE_SECONDS if held else 1)
            except TimeoutError:
                if held:
                    acknowledge()


def connect(order: Order) -> amqp.Connection:
    connection = amqp.Connection(f"127.0.0.1:{order['port']}")
    connection.connect()
    return connection


if __name__ == "__main__":
    main(Rabbitmq)
