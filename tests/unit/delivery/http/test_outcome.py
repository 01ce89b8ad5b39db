"""The step after an attempt that failed. Source of the numbers: "Amazon SNS message delivery retries" (SNS Developer
Guide), customer managed endpoints.
"""

from __future__ import annotations

from uuid import UUID

from penstock.delivery.delivery import GATEWAY, Delivery
from penstock.delivery.http.outcome import judge_answer, judge_failure


def delivery(attempts: int) -> Delivery:
    """A text message after so many attempts."""
    return Delivery(
        1,
        "000000000000",
        "endpoint",
        "https://gateway/sms",
        GATEWAY,
        UUID(int=1),
        None,
        None,
        True,
        None,
        attempts,
        "{}",
    )


def test_a_gateway_is_tried_50_times_over_six_hours() -> None:
    """2 times, 10 seconds apart; 10 times with exponential backoff from 10 to 600; 38 times, 600 seconds apart."""
    delays = [judge_answer(delivery(attempts), 503).delay_ms for attempts in range(51)]
    assert delays.pop() is None
    seconds = [milliseconds / 1_000 for milliseconds in delays if milliseconds is not None]
    assert len(seconds) == 50
    assert (seconds[:3], seconds[11:]) == ([10.0] * 3, [600.0] * 39)
    assert seconds == sorted(seconds)
    assert 6 <= sum(seconds) / 3_600 < 7


def test_what_a_gateway_refuses_is_final() -> None:
    assert judge_answer(delivery(0), 400).delay_ms is None
    assert judge_failure(delivery(0), OSError("refused")).delay_ms == 10_000
