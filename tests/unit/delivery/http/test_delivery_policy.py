"""Compares delivery policies with AWS's page "Amazon SNS message delivery retries" and recorded error texts."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from penstock.delivery.delivery import GATEWAY, Delivery
from penstock.delivery.http.outcome import judge_failure, judge_response
from penstock.sns.delivery_policy import (
    check_delivery_policy,
    check_topic_policy,
    compute_effective_policy,
    compute_effective_topic_policy,
    retry_delays,
)
from penstock.sns.errors import InvalidParameter

CURVES = ("linear", "arithmetic", "geometric", "exponential")
# AWS's page has this example: 3 retries at once, 2 one second apart, 10 with exponential backoff from 1 to 60 s, and 35
# at intervals of 60 s.
EXAMPLE = {
    "healthyRetryPolicy": {
        "minDelayTarget": 1, "maxDelayTarget": 60, "numRetries": 50, "numNoDelayRetries": 3,
        "numMinDelayRetries": 2, "numMaxDelayRetries": 35, "backoffFunction": "exponential",
    },
    "throttlePolicy": {"maxReceivesPerSecond": 10},
}  # fmt: skip


def graph(curve: str) -> list[float]:
    """Returns the retries in the graph on AWS's page: 10 retries from 5 to 260 seconds."""
    return retry_delays({"minDelayTarget": 5, "maxDelayTarget": 260, "numRetries": 10, "backoffFunction": curve})


def refusal(policy: Any, topic: bool = False) -> str:
    check = check_topic_policy if topic else check_delivery_policy
    text = policy if isinstance(policy, str) else json.dumps(policy)
    with pytest.raises(InvalidParameter) as caught:
        check(text)
    return caught.value.message


def test_by_default_three_retries_20_seconds_apart() -> None:
    assert retry_delays(compute_effective_policy(None, None)["healthyRetryPolicy"]) == [20, 20, 20]


def test_the_phases_of_the_example() -> None:
    check_delivery_policy(json.dumps(EXAMPLE))
    delays = retry_delays(compute_effective_policy(json.dumps(EXAMPLE), None)["healthyRetryPolicy"])
    assert len(delays) == 50
    assert delays[:5] == [0, 0, 0, 1, 1]
    assert (delays[5], delays[14]) == (1, 60)
    assert delays[15:] == [60] * 35


@pytest.mark.parametrize("curve", CURVES)
def test_backoff_rises_from_the_shortest_to_the_longest_delay(curve: str) -> None:
    delays = graph(curve)
    assert len(delays) == 10
    assert (delays[0], round(delays[-1], 6)) == (5, 260)
    assert delays == sorted(delays)


def test_linear_steps_are_equal_and_the_others_start_slower() -> None:
    linear, *slower = (graph(curve) for curve in CURVES)
    steps = {round(b - a, 6) for a, b in pairwise(linear)}
    assert steps == {round(255 / 9, 6)}
    for delays in slower:
        assert all(slow < fast for slow, fast in zip(delays[1:-1], linear[1:-1], strict=True))


@pytest.mark.parametrize("curve", CURVES)
def test_a_single_retry_in_the_backoff_phase_has_the_shortest_delay(curve: str) -> None:
    retries = {"minDelayTarget": 7, "maxDelayTarget": 9, "numRetries": 1, "backoffFunction": curve}
    assert retry_delays(retries) == [7]


def test_the_subscription_wins_section_by_section() -> None:
    topic = {"http": {"defaultHealthyRetryPolicy": {"numRetries": 7},
                      "defaultThrottlePolicy": {"maxReceivesPerSecond": 3}}}  # fmt: skip
    own = {"healthyRetryPolicy": {"numRetries": 5}}
    policy = compute_effective_policy(json.dumps(own), json.dumps(topic))
    assert policy["healthyRetryPolicy"]["numRetries"] == 5
    assert policy["throttlePolicy"] == {"maxReceivesPerSecond": 3}
    assert policy["requestPolicy"] == {"headerContentType": "text/plain; charset=UTF-8"}


def test_a_topic_can_disable_overrides() -> None:
    topic = {"http": {"defaultHealthyRetryPolicy": {"numRetries": 7}, "disableSubscriptionOverrides": True}}
    own = {"healthyRetryPolicy": {"numRetries": 5}}
    policy = compute_effective_policy(json.dumps(own), json.dumps(topic))
    assert policy["healthyRetryPolicy"]["numRetries"] == 7


def test_a_topic_without_a_policy_has_the_default() -> None:
    """The response is the example of `aws sns get-topic-attributes` with the default content type."""
    assert compute_effective_topic_policy(None) == {
        "http": {
            "defaultHealthyRetryPolicy": {
                "minDelayTarget": 20, "maxDelayTarget": 20, "numRetries": 3, "numMaxDelayRetries": 0,
                "numNoDelayRetries": 0, "numMinDelayRetries": 0, "backoffFunction": "linear",
            },
            "disableSubscriptionOverrides": False,
            "defaultRequestPolicy": {"headerContentType": "text/plain; charset=UTF-8"},
        }
    }  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "topic", "text"),
    [
        # AWS's users have reported the following texts.
        (
            {"healthyRetryPolicy": {"minDelayTarget": 0}},
            False,
            "Invalid parameter: DeliveryPolicy: healthyRetryPolicy.minDelayTarget must be greater than or equal to 1",
        ),
        (
            {"http": {"defaultHealthyRetryPolicy": {"numRetries": 101}}},
            True,
            (
                "Invalid parameter: DeliveryPolicy: http.defaultHealthyRetryPolicy.numRetries"
                " must be less than or equal to 100"
            ),
        ),
        ({"throttlePolicy": {}}, True, "Invalid parameter: DeliveryPolicy: Unexpected JSON member: throttlePolicy"),
    ],
)
def test_refusals_in_the_words_of_aws(policy: Any, topic: bool, text: str) -> None:
    assert refusal(policy, topic) == text


@pytest.mark.parametrize(
    ("policy", "named"),
    [
        ("{", "JSON"),
        ("[]", "JSON object"),
        ({"healthyRetryPolicy": 3}, "healthyRetryPolicy"),
        ({"healthyRetryPolicy": {"numRetry": 3}}, "numRetry"),
        ({"healthyRetryPolicy": {"numRetries": "3"}}, "numRetries"),
        ({"healthyRetryPolicy": {"numRetries": True}}, "numRetries"),
        ({"healthyRetryPolicy": {"numRetries": -1}}, "numRetries"),
        ({"healthyRetryPolicy": {"minDelayTarget": 30}}, "maxDelayTarget"),
        ({"healthyRetryPolicy": {"maxDelayTarget": 3601}}, "maxDelayTarget"),
        ({"healthyRetryPolicy": {"backoffFunction": "cubic"}}, "backoffFunction"),
        ({"healthyRetryPolicy": {"numRetries": 2, "numMaxDelayRetries": 3}}, "numRetries"),
        ({"healthyRetryPolicy": {"numRetries": 100, "maxDelayTarget": 3600}}, "3600"),
        ({"throttlePolicy": {"maxReceivesPerSecond": 0}}, "maxReceivesPerSecond"),
        ({"requestPolicy": {"headerContentType": "image/png"}}, "headerContentType"),
        ({"requestPolicy": {"headerContentType": "text/plain\r\nX-Other: 1"}}, "headerContentType"),
    ],
)
def test_other_refusals_name_what_is_wrong(policy: Any, named: str) -> None:
    assert named in refusal(policy)


@pytest.mark.parametrize("text", ["", "{}", '{"healthyRetryPolicy":{"numRetries":5}}', '{"sicklyRetryPolicy":null}'])
def test_a_valid_delivery_policy_is_accepted(text: str) -> None:
    check_delivery_policy(text)


# --- outcome ---------------------------------------------------------------------------------------------------------
# Tests the retry after a failed attempt. Source of the numbers: "Amazon SNS message delivery retries" (SNS Developer
# Guide), customer managed endpoints.


def delivery(attempts: int) -> Delivery:
    return Delivery(
        1,
        "000000000000",
        "endpoint",
        "sns://gateway/sms",
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
    """A delivery has 2 retries after 10 seconds each, 10 with exponential backoff from 10 to 600 seconds, and 38 after
    600 seconds each.
    """
    delays = [judge_response(delivery(attempts), 503).delay_ms for attempts in range(51)]
    assert delays.pop() is None
    seconds = [milliseconds / 1_000 for milliseconds in delays if milliseconds is not None]
    assert len(seconds) == 50
    assert (seconds[:3], seconds[11:]) == ([10.0] * 3, [600.0] * 39)
    assert seconds == sorted(seconds)
    assert 6 <= sum(seconds) / 3_600 < 7


def test_a_refusal_of_a_gateway_is_final() -> None:
    assert judge_response(delivery(0), 400).delay_ms is None
    assert judge_failure(delivery(0), OSError("refused")).delay_ms == 10_000
