"""Measures the peak memory of a part of a system while a study runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from .cpu import Meter, pss_of, sum_or_none

SECONDS = 0.2


@contextmanager
def peak_of(meter: Meter, group: str) -> Iterator[list[int]]:
    """The peak of PSS bytes, sampled five times a second, as a list of one; empty if /proc cannot be read."""
    pids = [process.pid for process in meter.members()[group]]
    peak: list[int] = []
    ended = Event()

    def sample() -> None:
        while not ended.wait(SECONDS):
            found = sum_or_none(map(pss_of, pids))
            if found is not None:
                peak[:] = [max([found, *peak])]

    thread = Thread(target=sample)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()
