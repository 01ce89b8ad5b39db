"""Tests that refusals are counted by caller and error, and are written together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock import errors
from penstock.access.audit.refusals import (
    MOST_CALLERS,
    OTHERS,
    Refusals,
    count_refusal,
    note_reading,
    note_refusal,
    watch_refusals,
)
from penstock.effects import Call, Operation


def request(refusals: Refusals, address: str = "192.0.2.1", key_id: str | None = "KEY") -> Any:
    environment = SimpleNamespace(cache=lambda _: refusals)
    return SimpleNamespace(
        account_id="000000000000", user=None, key_id=key_id, client_address=address, interface_name="rest",
        environment=environment,
    )  # fmt: skip


def written(operation: Operation[None]) -> list[tuple[Any, ...]]:
    """Runs an operation, and returns the rows of its calls."""
    rows: list[tuple[Any, ...]] = []
    for effect in operation:
        assert isinstance(effect, Call)
        rows += zip(*effect.arguments, strict=True)
    return rows


def refuse() -> errors.AwsError:
    return errors.AccessDenied("User: u is not authorized to perform: sqs:SendMessage on resource: arn:x because")


def test_the_first_refusal_is_written_at_once_and_others_later() -> None:
    refusals = Refusals()
    first = written(note_refusal(refuse(), request(refusals), "a"))
    assert first == [("000000000000", "rest", None, "KEY", "192.0.2.1", "sqs:SendMessage", "arn:x", "AccessDenied", 1)]
    assert written(note_refusal(refuse(), request(refusals), "a")) == []
    count_refusal(errors.InvalidClientTokenId(), request(refusals), "POST /console/sign-in")
    count_refusal(refuse(), request(refusals), "a")
    refusals._written_at = -100.0  # ten seconds later
    assert [(row[5], row[7], row[8]) for row in written(refusals.write())] == [
        ("sqs:SendMessage", "AccessDenied", 2), ("POST /console/sign-in", "InvalidClientTokenId", 1),
    ]  # fmt: skip
    assert written(refusals.write()) == []


def test_readings_are_counted_for_a_caller_and_a_queue() -> None:
    refusals = Refusals()
    reader = request(refusals)
    assert written(note_reading("arn:q", reader)) == []  # the caller is not known
    reader.user = SimpleNamespace(principal=SimpleNamespace(arn="arn:ann"))
    row = ("000000000000", "rest", "arn:ann", "KEY", "192.0.2.1", "penstock:ReadMessages", "arn:q", None, 1)
    assert written(note_reading("arn:q", reader)) == [row]
    for arn in ("arn:q", "arn:q", "arn:other"):
        assert written(note_reading(arn, reader)) == []
    refusals._written_at = -100.0  # ten seconds later
    assert [(row[6], row[8]) for row in written(refusals.write())] == [("arn:q", 2), ("arn:other", 1)]


def test_a_refusal_is_counted_once_and_other_errors_never() -> None:
    refusals, error = Refusals(), refuse()
    for _ in range(2):
        count_refusal(error, request(refusals), "a")
    count_refusal(errors.QueueDoesNotExist(), request(refusals), "a")
    count_refusal(errors.RequestThrottled(), request(refusals), "a")
    assert [row[8] for row in written(refusals.write())] == [1]


def test_strangers_cannot_fill_the_memory() -> None:
    refusals = Refusals()
    for number in range(3 * MOST_CALLERS):
        count_refusal(errors.InvalidClientTokenId(), request(refusals, f"192.0.2.{number}", "\0" * 900), "a")
    rows = written(refusals.write())
    assert len(rows) == MOST_CALLERS + 1
    assert (rows[-1][4], rows[-1][8]) == (OTHERS, 2 * MOST_CALLERS)
    assert {len(row[3]) for row in rows[:-1]} == {256}


def test_an_operation_that_is_watched_keeps_its_result_and_its_error() -> None:
    def succeed() -> Operation[int]:
        yield from ()
        return 7

    def fail() -> Operation[int]:
        yield from ()
        raise errors.InvalidClientTokenId

    refusals = Refusals()
    with pytest.raises(StopIteration) as end:
        next(watch_refusals(succeed(), request(refusals), "a"))
    assert end.value.value == 7
    with pytest.raises(errors.InvalidClientTokenId):
        assert len(list(watch_refusals(fail(), request(refusals), "a"))) == 1
    assert refusals._counts == {}  # The row was written before the error.
