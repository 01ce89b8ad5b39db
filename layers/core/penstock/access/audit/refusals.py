"""Counts refused requests, failed sign-ins and message reads for the audit log.

Each row contains the count for one minute, one caller, and one error or one queue that the caller has read. A process
writes its first row immediately. The process writes later rows together every ten seconds. The module does not count
accepted requests, except requests that show messages.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Final, NamedTuple, TypeVar

from penstock import errors
from penstock.access.context import RequestContext
from penstock.effects import Call, Operation
from penstock.errors import AwsError
from penstock.postgres.statements.access import NOTE_REFUSALS

from .acts import clean

T = TypeVar("T")

WRITE_SECONDS: Final = 10.0
MAX_CALLERS: Final = 200
"""The most callers and errors that a process counts separately between two writes. The process counts all other callers
and errors together.
"""
MAX_READ: Final = 1_000
"""The number of readings that a process remembers, to count a request only once for a queue."""
MAX_TEXT_LENGTH: Final = 256
REFUSING: Final = (
    errors.AccessDenied, errors.IncompleteSignature, errors.InvalidClientTokenId, errors.MisdirectedRequest,
    errors.MissingAuthenticationToken, errors.SignatureDoesNotMatch,
)  # fmt: skip
OTHERS: Final = "(others)"
READING: Final = "penstock:ReadMessages"
"""The audit log's name for a request that shows message bodies without receiving the messages."""

_denied = re.compile(r"to perform: (\S+) on resource: (\S+) ").search


class Refusal(NamedTuple):
    """The caller, interface and error of a refused request. `error` is None if the caller has read a queue."""

    account_id: str
    interface: str
    actor: str | None
    key_id: str | None
    address: str
    error: str | None
    queue: str = ""


class Refusals:
    """The refusals since the last write. Each refusal contains the action and target of the first request that it
    counts."""

    def __init__(self) -> None:
        self._counts: dict[Refusal, int] = {}
        self._first: dict[Refusal, tuple[str, str]] = {}
        self._read: set[tuple[str, str]] = set()
        self._written_at = -WRITE_SECONDS

    def add(self, refusal: Refusal, action: str, target: str) -> None:
        if refusal not in self._counts and len(self._counts) >= MAX_CALLERS:
            refusal = Refusal(refusal.account_id, refusal.interface, None, None, OTHERS, refusal.error)
            target = target if refusal.error else OTHERS
        self._counts[refusal] = self._counts.get(refusal, 0) + 1
        self._first.setdefault(refusal, (action, target))

    def is_first_reading(self, request_id: str, arn: str) -> bool:
        """Returns whether the request has not read the queue before. A page can read a queue several times."""
        if (request_id, arn) in self._read:
            return False
        if len(self._read) >= MAX_READ:
            self._read.clear()
        self._read.add((request_id, arn))
        return True

    def write(self) -> Operation[None]:
        """Writes the counts if ten seconds have passed since the last write."""
        if not self._counts or monotonic() < self._written_at + WRITE_SECONDS:
            return
        self._written_at = monotonic()
        counts, first = self._counts, self._first
        self._counts, self._first = {}, {}
        rows = [(*one[:5], *first[one], one.error, count) for one, count in counts.items()]
        columns = tuple(list(column) for column in zip(*rows, strict=True))
        yield from Call(NOTE_REFUSALS, columns)


def watch_refusals(operation: Operation[T], request: RequestContext, action: str) -> Operation[T]:
    """Runs an operation and counts the error if the operation refuses the caller. Raises the operation's errors."""
    try:
        return (yield from operation)
    except AwsError as error:
        yield from note_refusal(error, request, action)
        raise


def note_refusal(error: AwsError, request: RequestContext, action: str) -> Operation[None]:
    """Counts the error, and writes the counts if ten seconds have passed."""
    count_refusal(error, request, action)
    yield from request.environment.cache(Refusals).write()


def note_reading(arn: str, request: RequestContext) -> Operation[None]:
    """Counts a request that reads a queue's messages without receiving them, once for each queue, and writes the counts
    if ten seconds have passed.

    Counts requests only if QUEUE_ACCESS is `sigv4`, because other settings do not identify the caller.
    """
    if request.user is None:
        return
    refusals = request.environment.cache(Refusals)
    if refusals.is_first_reading(request.request_id, arn):
        refusals.add(describe_caller(request, None, shorten(arn)), READING, shorten(arn))
    yield from refusals.write()


def describe_caller(request: RequestContext, error: str | None, queue: str = "") -> Refusal:
    actor = None if request.user is None else request.user.principal.arn
    key_id = None if request.key_id is None else shorten(request.key_id)
    address = shorten(request.client_address)
    return Refusal(request.account_id, request.interface_name, actor, key_id, address, error, queue)


@contextmanager
def counting_refusals(request: RequestContext, action: str) -> Iterator[None]:
    """Counts the error that the block raises, like `count_refusal`. Makes no database call."""
    try:
        yield
    except AwsError as error:
        count_refusal(error, request, action)
        raise


def count_refusal(error: AwsError, request: RequestContext, action: str) -> None:
    """Counts an error at most once, and only if the error refuses the caller. `action` is used if the error does not
    contain an action."""
    if not isinstance(error, REFUSING) or getattr(error, "is_noted", False):
        return
    error.__dict__["is_noted"] = True
    denied = _denied(error.message)
    refusal = describe_caller(request, error.query_code)
    target = shorten(denied[2]) if denied else ""
    request.environment.cache(Refusals).add(refusal, shorten(denied[1] if denied else action), target)


async def keep_refusals(refusals: Refusals, call: Callable[..., Awaitable[object]]) -> None:
    """Writes the counts every ten seconds until the task is cancelled. Drops counts that it cannot write."""
    while True:
        await asyncio.sleep(WRITE_SECONDS)
        for effect in refusals.write():
            if isinstance(effect, Call):
                with suppress(Exception):
                    await call(effect.statement, list(effect.arguments))


def shorten(text: str) -> str:
    """Replaces the characters that PostgreSQL cannot store, and truncates the text."""
    return clean(text)[:MAX_TEXT_LENGTH]
