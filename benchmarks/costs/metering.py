"""Measures what metrics cost: the processor time that counting adds to a request, and that of a scrape.

python -m benchmarks.costs.metering
"""

import gzip
from functools import partial
from time import perf_counter, process_time
from timeit import repeat

from penstock.aws.arn import ResolvedQueue
from penstock.postgres.statements.messages import ReceivedRow
from penstock.reports import Deleted, Received, Sent
from penstock.settings import Settings
from penstock_web.metrics.exposition import Form
from penstock_web.metrics.meter import Meter
from penstock_web.metrics.page import GZIP_LEVEL, metric_texts

QUEUES = 1000
CALLS = 50_000
MESSAGE = ReceivedRow(None, None, 1, 1, 1, 1, 1, "id", 1000, 1234, "body", None, None, 1, 1, None)


def arn(number: int) -> str:
    return f"arn:aws:sqs:us-east-1:000000000000:orders-{number}"


def send(meter: Meter, number: int) -> None:
    """All calls of a SendMessage to the meter, and reading the clock."""
    started = perf_counter()
    meter.request_started()
    asked = perf_counter()
    meter.queues.counters[Sent](Sent(ARNS[number], 1, (4,)), perf_counter() - asked)
    meter.request_ended()
    meter.count_response("POST", "sqs:SendMessage", 200, perf_counter() - started)


def receive(meter: Meter, number: int) -> None:
    """The call of a receive that returns ten messages."""
    meter.queues.count_receive_call(RESOLVED[number], 0.002)
    meter.queues.counters[Received](Received(ARNS[number], [MESSAGE] * 10), 0.002)


def delete(meter: Meter, number: int) -> None:
    """The call of a delete of one message."""
    meter.queues.counters[Deleted](Deleted(ARNS[number], 1), 0.002)


ARNS = [arn(number) for number in range(QUEUES)]
RESOLVED = list(map(ResolvedQueue, ARNS))


def main() -> None:
    """Prints the least processor time of several runs, so that other programs have little influence."""
    meter = Meter(Settings.read({}))
    for work in (send, receive, delete):
        for number in range(QUEUES):
            work(meter, number)
        times = repeat(partial(work, meter, 7), number=CALLS, repeat=9, timer=process_time)
        print(f"{work.__name__:8} {min(times) / CALLS * 1e6:.2f} µs")
    for form in (Form(), Form(is_openmetrics=True)):
        scrapes = [scrape(meter, form) for _ in range(5)]
        seconds, longest, text = min(scrapes)
        name = "openmetrics" if form.is_openmetrics else "text"
        size = f"{text.count(chr(10))} lines, {len(text) / 1e6:.1f} MB"
        print(
            f"scrape   {seconds:.3f} s, longest step {longest * 1000:.0f} ms, {size}: {name}, {QUEUES} queues"
        )
        started = process_time()
        packed = gzip.compress(text.encode(), GZIP_LEVEL)
        print(f"gzip     {process_time() - started:.3f} s, {len(packed) / 1e6:.2f} MB")


def scrape(meter: Meter, form: Form) -> tuple[float, float, str]:
    """Processor time of a scrape, that of its longest step, and its text."""
    started = last = process_time()
    longest = 0.0
    texts = []
    for text in metric_texts(meter, None, form):
        texts.append(text)
        longest, last = max(longest, process_time() - last), process_time()
    return process_time() - started, longest, "".join(texts)


if __name__ == "__main__":
    main()
