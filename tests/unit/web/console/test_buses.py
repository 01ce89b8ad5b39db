"""Tests the states of subscribers on the pages of event buses."""

from penstock.management.attention import Concern
from penstock_web.console.screens.buses import State, find_states


def test_the_worst_of_several_concerns_is_the_state() -> None:
    found = [
        Concern("subscriber_lags", "bad", "orders/billing", None, False, 1, "late", ""),
        Concern("subscriber_fails", "warn", "orders/billing", None, False, 1, "refused", ""),
        Concern("subscriber_fails", "warn", "other/billing", None, False, 1, "refused", ""),
    ]
    assert find_states("orders", found) == {"billing": State("lags", "bad", "late")}
