"""What metrics cost: processor time that counting adds to a request, and that of a scrape of many queues.

python -m benchmarks.costs.metering
"""

from functools import partial
from time import perf_counter, process_time
from timeit import repeat

from penstock.effects import Row, Rows, Take
from penstock.postgres.statements import DELETE_MESSAGES, RECEIVE_MESSAGES, SEND_MESSAGES
from penstock.settings import Settings
from penstock_web.metrics.meter import Meter
from penstock_web.metrics.page import texts

QUEUES = 1000
CALLS = 50_000
SENT: list[Row] = [(1, 7, None, None, None, None)]
DELETED: list[Row] = [(1, "deleted")]
HEADER: Row = (None, 0, *[None] * 13)
MESSAGE: Row = (None, None, 1, 1, 1, 1, 1, "id", 1000, 1234, "body", None, None, 1, 1)


def arn(number: int) -> str:
    return f"arn:aws:sqs:us-east-1:000000000000:orders-{number}"


def send(meter: Meter, number: int) -> None:
    """All that a SendMessage does for metrics, the clock included."""
    started = perf_counter()
    meter.entered()
    asked = perf_counter()
    meter.queues.observe(SENDS[number], SENT, perf_counter() - asked)
    meter.left()
    meter.answered("POST", "sqs:SendMessage", 200, perf_counter() - started)


def receive(meter: Meter, number: int) -> None:
    """What a look that finds ten messages does."""
    meter.queues.observe(TAKES[number], [HEADER, *[MESSAGE] * 10], 0.002)


def delete(meter: Meter, number: int) -> None:
    """What a delete of one message does."""
    meter.queues.observe(DELETES[number], DELETED, 0.002)


SENDS = [Rows(SEND_MESSAGES, ([arn(n)],), queue_arn=arn(n)) for n in range(QUEUES)]
TAKES = [Take(RECEIVE_MESSAGES, arn(n), 10, None) for n in range(QUEUES)]
DELETES = [Rows(DELETE_MESSAGES, ([1],), queue_arn=arn(n)) for n in range(QUEUES)]


def main() -> None:
    """Prints the figures; the least of several runs, of processor time, so that company matters little."""
    meter = Meter(Settings.read({}))
    for work in (send, receive, delete):
        for number in range(QUEUES):
            work(meter, number)
        times = repeat(partial(work, meter, 7), number=CALLS, repeat=9, timer=process_time)
        print(f"{work.__name__:8} {min(times) / CALLS * 1e6:.2f} µs")
    scrapes = [scrape(meter) for _ in range(5)]
    seconds, longest, lines = min(scrapes)
    print(f"scrape   {seconds:.3f} s, longest step {longest * 1000:.0f} ms, {lines} lines, {QUEUES} queues")


def scrape(meter: Meter) -> tuple[float, float, int]:
    """Processor time of the whole, that of the longest step, and how many lines came of it."""
    started = last = process_time()
    longest = 0.0
    lines = 0
    for text in texts(meter, None):
        lines += text.count("\n")
        longest, last = max(longest, process_time() - last), process_time()
    return process_time() - started, longest, lines


if __name__ == "__main__":
    main()
