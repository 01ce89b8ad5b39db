"""Tests which workers a change wakes.

Also tests that `penstock up` warns at each start if everybody has access.
"""

import pytest

from penstock.settings import Settings
from penstock_web.database.activity import Activity
from penstock_web.local.up import warn_of_open_access


class Sleeper:
    """Counts its wake-ups."""

    def __init__(self) -> None:
        self.woken = 0

    def wake(self) -> None:
        self.woken += 1


def test_a_change_of_this_process_wakes_once() -> None:
    activity, sleeper = Activity(), Sleeper()
    activity.wait(sleeper.wake, 7)
    activity.notice()
    activity.notice()
    assert sleeper.woken == 1
    assert not activity.end_wait(sleeper.wake)


def test_another_number_wakes_and_the_same_does_not() -> None:
    activity, first, second = Activity(), Sleeper(), Sleeper()
    activity.wait(first.wake, 7)
    activity.wait(second.wake, 8)
    activity.compare(8)
    assert (first.woken, second.woken) == (1, 0)
    activity.compare(7)  # The server's counter restarts after a crash.
    assert (first.woken, second.woken) == (1, 1)


def test_a_worker_that_waits_again_when_woken_waits_for_the_next_change() -> None:
    activity = Activity()

    def wake() -> None:
        activity.wait(wake, 8)

    activity.wait(wake, 7)
    activity.compare(8)
    assert activity.end_wait(wake)
    assert activity.changes == 8


@pytest.mark.parametrize(
    ("access", "host", "warns"),
    [
        ("off", "0.0.0.0", True),
        ("off", "::", True),
        ("off", "10.0.0.1", True),
        ("off", "queue.internal", True),
        ("presence", "0.0.0.0", True),
        ("sigv4", "0.0.0.0", False),
        ("off", "127.0.0.1", False),
        ("off", "::1", False),
        ("off", "localhost", False),
    ],
)
def test_open_to_other_machines(access: str, host: str, warns: bool, capsys: pytest.CaptureFixture[str]) -> None:
    warn_of_open_access(Settings.read({"QUEUE_ACCESS": access}), host)
    said = capsys.readouterr().err
    assert said.startswith(f"penstock: WARNING: QUEUE_ACCESS={access} and the address {host}: ") is warns
    assert said.count("\n") == warns
