"""Tests that the tables of counts have a limited size and never decrease, and that other processes on the port can read
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from penstock.observing.reports import Sent
from penstock_web.metrics.exposition import format_family, format_labels, format_number
from penstock_web.metrics.families import BLOCKS
from penstock_web.metrics.family import Family
from penstock_web.metrics.memory import CounterMemory, CounterMemoryFull
from penstock_web.metrics.queue_counts import OTHER, QueueCounts

OWN = ("000000000000", "us-east-1")


def arn(name: str, account: str = OWN[0]) -> str:
    return f"arn:aws:sqs:us-east-1:{account}:{name}"


def send(counts: QueueCounts, queue: str, number: int = 1) -> None:
    counts.counters[Sent](Sent(queue, number), 0.002)


def messages_sent(memory: CounterMemory) -> dict[str, float]:
    return {key[1]: block[0] for key, block in memory.total().items() if key[0] == "sends"}


# --- queues ----------------------------------------------------------------------------------------------------------
def test_queues_beyond_the_limit_share_a_label() -> None:
    memory = CounterMemory(1000)
    counts = QueueCounts(memory, 2, OWN)
    for name in "abcdc":
        send(counts, arn(name))
    assert messages_sent(memory) == {"a": 1, "b": 1, OTHER: 3}
    assert counts.overflowed


def test_deleted_queues_make_room_and_the_sum_stays() -> None:
    memory = CounterMemory(1000)
    counts = QueueCounts(memory, 2, OWN)
    for name in "aab":
        send(counts, arn(name))
    counts.remove_queues([arn("a")])
    assert messages_sent(memory) == {"b": 1, OTHER: 2}
    send(counts, arn("c"))
    assert messages_sent(memory) == {"b": 1, "c": 1, OTHER: 2}
    (times,) = [block[1:] for key, block in memory.total().items() if key == ("sends", "c")]
    # Another counter used the block before, but its values are gone.
    assert times == [0.002, 0, 1, *[0] * 9]


@pytest.mark.parametrize(
    ("kind", "first"),
    [
        ("sends", "penstock_queue_messages_sent_total"),
        ("receives", "penstock_queue_messages_received_total"),
        ("deletes", "penstock_queue_messages_deleted_total"),
        ("mappings", "penstock_mapping_invocations_total"),
    ],
)
def test_the_most_frequent_count_is_at_the_start_of_its_block(kind: str, first: str) -> None:
    """The code writes the most frequent counters to the start of the block, without an offset."""
    assert BLOCKS[kind].find_slot(first) == 0


def test_queues_of_others_have_their_arn_as_label() -> None:
    memory = CounterMemory(1000)
    counts = QueueCounts(memory, 5, OWN)
    send(counts, arn("a"))
    send(counts, arn("a", "111111111111"))
    assert messages_sent(memory) == {"a": 1, arn("a", "111111111111"): 1, OTHER: 0}


def test_all_messages_of_a_call_are_counted() -> None:
    memory = CounterMemory(1000)
    counts = QueueCounts(memory, 5, OWN)
    send(counts, arn("a"), 10)
    send(counts, arn("a"), 0)
    assert messages_sent(memory) == {"a": 10, OTHER: 0}
    (times,) = [block[1:] for key, block in memory.total().items() if key == ("sends", "a")]
    assert times == [0.004, 0, 2, *[0] * 9]


Shared = Callable[[], tuple[CounterMemory, CounterMemory]]


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Shared]:
    """Yields the memories of two processes on one port."""
    with ExitStack() as stack:

        def create() -> tuple[CounterMemory, CounterMemory]:
            one, two = CounterMemory(100, tmp_path), CounterMemory(100, tmp_path)
            stack.callback(one.close)
            stack.callback(two.close)
            return one, two

        yield create


# --- memory ----------------------------------------------------------------------------------------------------------
def test_processes_add_up(shared: Shared) -> None:
    one, two = shared()
    for memory, value in ((one, 1.0), (two, 2.0)):
        memory.numbers[memory.allocate("exhausted")] = value
        memory.numbers[memory.allocate("active")] = value
        memory.numbers[memory.allocate("successes", "maintain")] = value
    two.numbers[two.allocate("work", "fire", "fired")] = 5.0
    expected = {("exhausted",): [3.0], ("active",): [3.0], ("successes", "maintain"): [2.0],
                ("work", "fire", "fired"): [5.0]}  # fmt: skip
    assert one.total() == two.total() == expected


def test_the_dead_still_count_but_have_no_gauges(shared: Shared) -> None:
    living, dead = shared()
    for memory in (living, dead):
        memory.numbers[memory.allocate("exhausted")] = 1.0
        memory.numbers[memory.allocate("active")] = 1.0
    dead.close()
    assert living.total() == {("exhausted",): [2.0], ("active",): [1.0]}


def test_a_block_that_changes_hands_is_read_under_its_new_name(shared: Shared) -> None:
    one, two = shared()
    rest = one.allocate("sends", OTHER)
    old = one.allocate("sends", "old")
    one.numbers[old] = 3.0
    one.release(old, rest)
    assert one.allocate("sends", "new") == old
    one.numbers[old] = 1.0
    assert messages_sent(two) == {OTHER: 3.0, "new": 1.0}


def test_a_full_table_says_so() -> None:
    memory = CounterMemory(BLOCKS["sends"].slots)
    memory.allocate("sends", "a")
    with pytest.raises(CounterMemoryFull):
        memory.allocate("sends", "b")


# --- the text ("Exposition formats", prometheus.io) ------------------------------------------------------------------
def test_values_of_labels_are_escaped() -> None:
    assert format_labels(["a", "b"], ['say "hi"', "c:\\d\ne"]) == 'a="say \\"hi\\"",b="c:\\\\d\\ne"'


@pytest.mark.parametrize(("value", "text"), [(3.0, "3"), (0.25, "0.25"), (1e15, "1000000000000000")])
def test_a_number_is_written_without_an_exponent(value: float, text: str) -> None:
    assert format_number(value) == text


def test_a_histogram() -> None:
    family = Family("seconds", "histogram", "Times.", (0.5, 1.0))
    assert format_family(family, [('a="b"', [2.25, 1.0, 0.0, 1.0])]) == (
        "# HELP seconds Times.\n# TYPE seconds histogram\n"
        'seconds_bucket{a="b",le="0.5"} 1\nseconds_bucket{a="b",le="1"} 1\nseconds_bucket{a="b",le="+Inf"} 2\n'
        'seconds_sum{a="b"} 2.25\nseconds_count{a="b"} 2\n'
    )
