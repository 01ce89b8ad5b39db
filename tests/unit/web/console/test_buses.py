"""Tests the states of subscribers on the pages of event buses."""

from penstock.management.attention import Concern
from penstock_web.console.screens.buses import State, find_states


def test_the_worst_of_several_concerns_is_the_state() -> None:
    found = [
        Concern(kind, level, name, None, False, 1, kind, "")
        for kind, level, name in (
            ("subscriber_lags", "bad", "orders/billing"),
            ("subscriber_fails", "warn", "orders/billing"),
            ("subscriber_fails", "warn", "other/billing"),
        )
    ]
    assert find_states("orders", found) == {"billing": State("lags", "bad", "subscriber_lags")}
