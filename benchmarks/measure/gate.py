"""Checks the host's load before a study: on a busy machine it warns, waits, or refuses to measure."""

import sys
import time

from .host import HostLoad, host_load

MAX_WAIT_SECONDS = 600
PAUSE_SECONDS = 10


class BusyHostError(Exception):
    """Other programs use the machine, and the caller asked not to measure in that case."""


def check_host_load(when_busy: str) -> HostLoad:
    """The load before a study. `when_busy`: "mark" warns, "wait" waits 10 minutes at most, "refuse" raises."""
    load = host_load()
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    while load.busy and when_busy == "wait" and time.monotonic() < deadline:
        time.sleep(PAUSE_SECONDS)
        load = host_load()
    if load.busy and when_busy == "refuse":
        raise BusyHostError(f"the host is busy: {load.busy_share:.0%} of all cores are in use by others")
    if load.busy:
        print(
            f"WARNING: the host is busy ({load.busy_share:.0%} of all cores): figures are marked",
            file=sys.stderr,
        )
    return load
