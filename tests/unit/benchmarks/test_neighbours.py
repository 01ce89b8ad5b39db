"""The table of a noisy neighbour: ratios of the same round, missing arrivals, and the order of the phases."""

from __future__ import annotations

import pytest

from benchmarks.neighbours.clients import local_address
from benchmarks.neighbours.noise import Done
from benchmarks.neighbours.probe import LATE_SECONDS, Sample
from benchmarks.neighbours.study import PHASES, QUIET, Phase, order, row_of

CORES = {"server": 1.0, "probe": 0.1, "noises": 0.5, "others": 0.0}


def phase(seconds: float, **missing: int) -> Phase:
    """All calls took so long."""
    calls = [seconds] * 100
    return Phase(Sample(calls, calls, calls, missing), {"polls": Done(1000, 3, 1.0)}, CORES)


def test_a_ratio_is_one_of_the_same_round() -> None:
    pairs = [(phase(0.010), phase(0.015)), (phase(0.020), phase(0.030)), (phase(0.002), phase(0.020))]
    row = row_of("polls", pairs)
    assert (row["send p99 ms"], row["send : quiet"], row["goal (2)"]) == (20.0, 1.5, "reached")
    assert row["noises did"] == "polls 1,000 (3 refused)"


@pytest.mark.parametrize("kind", ["fires", "webhooks"])
def test_what_does_not_come_counts_as_late(kind: str) -> None:
    sample = phase(0.01, **{kind: 2}).sample
    assert sample.p99_ms(kind) == LATE_SECONDS * 1000
    assert row_of("polls", [(phase(0.01), phase(0.01, **{kind: 2}))])["goal (2)"] == "MISSED"


def test_every_round_has_every_phase_in_another_order() -> None:
    orders = [order(number) for number in range(4)]
    assert all(sorted(names) == sorted(PHASES) for names in orders)
    assert len({tuple(names) for names in orders}) == 4
    assert orders[0][0] == QUIET


def test_clients_have_addresses_of_their_own() -> None:
    found = {local_address(number)[0] for number in range(10_000)}
    assert len(found) == 10_000
    assert all(address.startswith("127.1.") and max(map(int, address.split("."))) < 255 for address in found)
