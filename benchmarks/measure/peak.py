"""The most memory that a part of a system has while something runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from .cpu import Meter, pss_of, summed

SECONDS = 0.2


@contextmanager
def peak_of(meter: Meter, group: str) -> Iterator[list[int]]:
    """Bytes (PSS), looked at five times a second; the list has the most so far, and is empty where /proc is closed."""
    pids = [process.pid for process in meter.members()[group]]
    most: list[int] = []
    ended = Event()

    def look() -> None:
        while not ended.wait(SECONDS):
            found = summed(map(pss_of, pids))
            if found is not None:
                most[:] = [max([found, *most])]

    thread = Thread(target=look)
    thread.start()
    try:
        yield most
    finally:
        ended.set()
        thread.join()
