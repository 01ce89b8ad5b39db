"""Delivery policies. Source: "Creating HTTP/S delivery policies" (SNS Developer Guide)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.sns.delivery_policy import (
    DEFAULT_RETRY,
    check_delivery_policy,
    check_topic_policy,
    compute_effective_policy,
    compute_effective_topic_policy,
    retry_delays,
)
from penstock.sns.errors import InvalidParameter


def policy(**retry: Any) -> str:
    return json.dumps({"healthyRetryPolicy": retry})


def delays(**retry: Any) -> list[float]:
    return [round(delay, 3) for delay in retry_delays({**DEFAULT_RETRY, **retry})]


@pytest.mark.parametrize(
    "text",
    [
        "{", "[]", '{"surprise":1}', policy(numRetries=101), policy(numRetries=-1), policy(numRetries="3"),
        policy(minDelayTarget=0), policy(maxDelayTarget=3601), policy(minDelayTarget=30),
        policy(backoffFunction="quadratic"), policy(numRetries=2, numNoDelayRetries=3),
        policy(numRetries=100, minDelayTarget=60, maxDelayTarget=60),
        json.dumps({"throttlePolicy": {"maxReceivesPerSecond": 0}}),
        json.dumps({"requestPolicy": {"headerContentType": "image/png"}}), "{}" + " " * 30_720,
    ],
)  # fmt: skip
def test_bad_policies(text: str) -> None:
    """0-100 retries, delays of 1-3,600 s, an hour in all, phases within the retries."""
    with pytest.raises(InvalidParameter, match="DeliveryPolicy"):
        check_delivery_policy(text)


def test_good_policies() -> None:
    check_delivery_policy(policy(numRetries=50, minDelayTarget=1, maxDelayTarget=60))
    check_topic_policy(json.dumps({"http": {"defaultHealthyRetryPolicy": {"numRetries": 5}}}))
    with pytest.raises(InvalidParameter):
        check_topic_policy(json.dumps({"healthyRetryPolicy": {}}))


def test_the_default_is_three_retries_20_seconds_apart() -> None:
    assert delays() == [20.0, 20.0, 20.0]


def test_phases_follow_each_other() -> None:
    """No delay, the least delay, back-off, the greatest delay."""
    found = delays(
        minDelayTarget=1, maxDelayTarget=60, numRetries=10, numNoDelayRetries=3, numMinDelayRetries=2,
        numMaxDelayRetries=2,
    )  # fmt: skip
    assert found == [0, 0, 0, 1, 1, 1, 30.5, 60, 60, 60]


@pytest.mark.parametrize("function", ["linear", "arithmetic", "geometric", "exponential"])
def test_back_off_rises_from_the_least_to_the_greatest_delay(function: str) -> None:
    found = delays(minDelayTarget=5, maxDelayTarget=500, numRetries=6, backoffFunction=function)
    assert (found[0], found[-1]) == (5, 500)
    assert found == sorted(set(found))


def test_a_subscription_goes_before_its_topic() -> None:
    topic = json.dumps({"http": {"defaultHealthyRetryPolicy": {"numRetries": 5}}})
    assert compute_effective_policy(None, topic)["healthyRetryPolicy"]["numRetries"] == 5
    assert compute_effective_policy(policy(numRetries=7), topic)["healthyRetryPolicy"]["numRetries"] == 7
    fixed = json.dumps({"http": {"disableSubscriptionOverrides": True}})
    assert compute_effective_policy(policy(numRetries=7), fixed)["healthyRetryPolicy"]["numRetries"] == 3


def test_a_topics_effective_policy_has_the_defaults() -> None:
    http = compute_effective_topic_policy(None)["http"]
    assert http["defaultHealthyRetryPolicy"] == DEFAULT_RETRY
    assert http["disableSubscriptionOverrides"] is False
    assert http["defaultRequestPolicy"] == {"headerContentType": "text/plain; charset=UTF-8"}
