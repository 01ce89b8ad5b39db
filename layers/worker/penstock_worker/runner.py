"""Receives messages, and runs the handler in threads: a receiving thread, a thread for each message, a heartbeat."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import FrameType
from typing import Final, Generic, ParamSpec, TypeVar

from . import tracing
from .heartbeat import Heartbeat
from .message import Message
from .queue import GoneError, Queue, describe
from .settings import Settings
from .slots import Slots

logger = logging.getLogger("penstock_worker")

MAX_PAUSE_SECONDS: Final = 30
"""The longest pause between receives that fail. The first pause is a second."""
SIGNAL_SECONDS: Final = 1.0
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class Worker(Generic[P, R_co]):
    """A handler with its queue. A call of the worker calls the handler, as tests do."""

    def __init__(self, name: str, handler: Callable[P, R_co], settings: Settings, connect: Callable[[], Queue]) -> None:
        self.name = name
        self._handler = handler
        self._settings = settings
        self._connect = connect
        self._stopping = threading.Event()
        self._slots = Slots(settings.concurrency)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        return self._handler(*args, **kwargs)

    def run(self) -> None:
        """Handles messages until SIGTERM, SIGINT or `stop`. A worker runs once.

        Raises the client's error if the queue cannot be opened. The worker logs errors of later receives, and tries
        again.
        """
        run(self)

    def stop(self) -> None:
        """Ends the worker: the running handlers finish, and messages without a handler become visible at once."""
        self._stopping.set()
        self._slots.close()

    def receive_until_stopped(self) -> None:
        """Runs the worker in this thread, without signals."""
        queue = self._connect()
        try:
            with (
                Heartbeat(queue, self._settings.visibility_timeout) as heartbeat,
                ThreadPoolExecutor(self._settings.concurrency, f"worker-{self.name}") as threads,
            ):
                logger.info("receiving from %s", self.name)
                run = _Run(self.name, self._settings, queue, heartbeat, self._slots, self._stopping)
                failures = 0
                while not self._stopping.is_set():
                    failures = 0 if run.receive(threads) else failures + 1
                    if failures:
                        self._stopping.wait(min(2.0 ** (failures - 1), MAX_PAUSE_SECONDS))
        finally:
            queue.close()
            logger.info("stopped receiving from %s", self.name)


class _Run:
    """What a running worker's threads share."""

    def __init__(
        self, name: str, settings: Settings, queue: Queue, heartbeat: Heartbeat, slots: Slots, stopping: threading.Event
    ) -> None:
        self._name = name
        self._settings = settings
        self._queue = queue
        self._heartbeat = heartbeat
        self._slots = slots
        self._stopping = stopping

    def receive(self, threads: ThreadPoolExecutor) -> bool:
        """Receives as many messages as there are free slots, and starts their handlers. Returns whether the receive
        succeeded."""
        taken = self._slots.take(self._queue.max_messages)
        if not taken:
            return True
        try:
            messages = self._queue.receive(taken)
        except Exception:
            logger.exception("a receive from %s failed", self._name)
            self._slots.release(taken)
            return False
        self._slots.release(taken - len(messages))
        self._heartbeat.add(messages)
        for group in split_groups(messages):
            threads.submit(self._handle_in_order, group)
        if not messages:
            self._stopping.wait(self._queue.idle_seconds)
        return True

    def _handle_in_order(self, messages: Sequence[Message]) -> None:
        """Handles the messages of a group. After a failure or a stop, releases the rest."""
        handled = 0
        try:
            for message in messages:
                if self._stopping.is_set():
                    break
                handled += 1
                if not self._handle(message):
                    break
            self._release(messages[handled:])
        except Exception:
            logger.exception("%s does not respond: its messages return after their visibility timeout", self._name)
        finally:
            self._heartbeat.remove(messages)
            self._slots.release(len(messages))

    def _handle(self, message: Message) -> bool:
        """Returns whether the message was handled and deleted."""
        try:
            with tracing.span(self._name, self._queue.system, message):
                self._queue.handle(message)
        except GoneError:
            logger.warning("message %s was rolled back: another consumer has deleted it", message.id)
            return True
        except Exception as error:
            pause = self._settings.pause_seconds(message.receive_count)
            text = "message %s of %s failed at receive %d, and returns in %d s"
            logger.warning(text, message.id, self._name, message.receive_count, pause, exc_info=True)
            self._heartbeat.remove([message])
            self._queue.fail(message, describe(error), pause)
            return False
        self._heartbeat.remove([message])
        self._queue.delete(message)
        return True

    def _release(self, messages: Sequence[Message]) -> None:
        if messages:
            self._heartbeat.remove(messages)
            self._queue.release(messages)


def split_groups(messages: Sequence[Message]) -> list[list[Message]]:
    """Returns the messages of each group in their order. A message without a group is alone."""
    groups: dict[tuple[str, bool], list[Message]] = {}
    for message in messages:
        key = (message.id, False) if message.group_id is None else (message.group_id, True)
        groups.setdefault(key, []).append(message)
    return list(groups.values())


def run(*workers: Worker[..., object]) -> None:
    """Runs workers until SIGTERM, SIGINT or the end of one of them, each in a thread. The second signal kills the
    process. Raises the error of a worker whose queue cannot be opened, after all workers have ended.

    Outside of the main thread, Python accepts no signal handlers, and the caller calls `stop`.
    """
    with _stopped_by_signals(workers), ThreadPoolExecutor(max(len(workers), 1), "penstock-worker") as threads:
        futures = [threads.submit(_run_one, worker, workers) for worker in workers]
        while wait(futures, timeout=SIGNAL_SECONDS).not_done:
            pass  # Python runs signal handlers here, also if another thread got the signal.
    for future in futures:
        future.result()


def _run_one(worker: Worker[..., object], workers: Sequence[Worker[..., object]]) -> None:
    try:
        worker.receive_until_stopped()
    finally:
        _stop(workers)


def _stop(workers: Sequence[Worker[..., object]]) -> None:
    for worker in workers:
        worker.stop()


@contextmanager
def _stopped_by_signals(workers: Sequence[Worker[..., object]]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        _stop(workers)

    previous = {number: signal.signal(number, stop) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
