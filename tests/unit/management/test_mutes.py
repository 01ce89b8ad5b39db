"""Tests that alerts do not tell the problems of a muted resource. docs/operate/alerts.md."""

from datetime import timedelta

import pytest
from msgspec import structs

from penstock.management.alerts.mutes import find_muted_until
from tests.support.alerts import build_concern

from .test_alerts import NOW, Told


def test_a_muted_problem_is_told_only_after_the_mute() -> None:
    """The end of a problem is told only if the problem was told."""
    told, letters = Told(evaluations=1), build_concern("dead_letters", "dead", number=3)
    muted = structs.replace(letters, muted_until=NOW + timedelta(hours=1))
    assert [told(muted), told(muted), told(), told()] == [[]] * 4
    assert told.rows == {}
    assert [told(muted), told(letters)] == [[], [("began", "dead_letters")]]
    told.now += timedelta(hours=2)
    more = structs.replace(muted, number=9, muted_until=told.now + timedelta(hours=1))
    assert [told(more), told()] == [[], [("ended", "dead_letters")]]


@pytest.mark.parametrize(
    ("kind", "name", "is_muted"),
    [("dead_letters", "orders", True), ("messages_expire", "orders", True), ("stalled", "orders", True),
     ("schedule_fails", "orders", False), ("stalled", "other", False), ("schedules_late", "nightly and 2 more", True),
     ("given_up", "https://a.test", True), ("endpoint_fails", "https://a.test", True), ("old_snapshot", "", False)],
)  # fmt: skip
def test_a_mute_covers_all_problems_of_its_resource(kind: str, name: str, is_muted: bool) -> None:
    mutes = {("queue", "orders"): NOW, ("schedules", "Schedules"): NOW, ("endpoint", "https://a.test"): NOW}
    assert (find_muted_until(mutes, kind, name) is not None) is is_muted
