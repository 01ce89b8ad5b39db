"""Every order of steps of the storage's model: two consumers, up to four messages, one crash or failover.

Budgets are the numbers of sends, receives, time-outs, changed visibilities and failures.
"""

from __future__ import annotations

import pytest

from tests.support.model.storage import Rules, ViolationError, explore


@pytest.mark.parametrize("fifo", [False, True])
def test_nothing_is_lost_invented_shared_or_reordered(fifo: bool) -> None:
    assert explore(Rules(fifo, budget=(2, 2, 1, 0, 1))) > 3_000


@pytest.mark.slow
@pytest.mark.parametrize("fifo", [False, True])
@pytest.mark.parametrize("budget", [(4, 2, 1, 1, 1), (4, 3, 0, 0, 1)])
def test_with_four_messages(fifo: bool, budget: tuple[int, int, int, int, int]) -> None:
    assert explore(Rules(fifo, budget=budget)) > 10_000


@pytest.mark.parametrize("fence", [False, True])
@pytest.mark.parametrize("fifo", [False, True])
def test_without_the_identity_in_handles_a_handle_of_before_deletes_another_message(
    fifo: bool, fence: bool
) -> None:
    """The jump of ids alone does not prevent it: somebody sends before it is noticed."""
    with pytest.raises(ViolationError, match="a handle of 1 deletes 2") as found:
        explore(Rules(fifo, identity=False, fence=fence, budget=(2, 2, 0, 0, 1)))
    assert "failover" in found.value.path


def test_identity_alone_is_enough() -> None:
    """Ids jump for those who keep plain ids: callers of REST and of SQL functions."""
    assert explore(Rules(fifo=False, fence=False, budget=(2, 2, 0, 0, 1))) > 1_000
