"""Starting a streaming query again when Spark could not start its Python process in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from penstock_metrics.continuous import QUERY_STARTS, run_to_end

SLOW = "[STREAM_FAILED] terminated with exception: Python worker failed to connect back."


class FakeQuery:
    """Ends well, or with an error."""

    def __init__(self, error: str | None) -> None:
        self.error = error
        self.is_stopped = False

    def awaitTermination(self) -> None:  # noqa: N802 - the name in Spark
        if self.error:
            raise StreamingQueryException(self.error)

    def stop(self) -> None:
        self.is_stopped = True


def starter(queries: list[FakeQuery]) -> Callable[[], StreamingQuery]:
    remaining: Iterator[FakeQuery] = iter(queries)
    return lambda: cast("StreamingQuery", next(remaining))


def test_a_slow_start_is_repeated() -> None:
    queries = [FakeQuery(SLOW), FakeQuery(SLOW), FakeQuery(None), FakeQuery(None)]
    run_to_end(starter(queries))
    assert [query.is_stopped for query in queries] == [True, True, True, False]


@pytest.mark.parametrize(("error", "starts"), [(SLOW, QUERY_STARTS), ("no such table", 1)])
def test_other_errors_and_the_last_one_are_raised(error: str, starts: int) -> None:
    queries = [FakeQuery(error) for _ in range(QUERY_STARTS + 1)]
    with pytest.raises(StreamingQueryException):
        run_to_end(starter(queries))
    assert [query.is_stopped for query in queries].count(True) == starts
