"""Delivery policies of HTTP(S) subscriptions: what they may say, which one holds, and when a retry comes.

    healthyRetryPolicy   minDelayTarget, maxDelayTarget (seconds), numRetries, numNoDelayRetries, numMinDelayRetries,
                         numMaxDelayRetries, backoffFunction (linear, arithmetic, geometric, exponential)
    throttlePolicy       maxReceivesPerSecond
    requestPolicy        headerContentType

A topic's policy names them `defaultHealthyRetryPolicy` and so on below `http`, and may forbid subscriptions their own.
Sources: "Creating HTTP/S delivery policies", "Message delivery retries" (SNS Developer Guide). The guide shows the
back-off functions in a picture only: how they rise between the two delays is our choice.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from .errors_sns import InvalidParameter

DEFAULT_RETRY: Mapping[str, Any] = {
    "minDelayTarget": 20,
    "maxDelayTarget": 20,
    "numRetries": 3,
    "numMaxDelayRetries": 0,
    "numNoDelayRetries": 0,
    "numMinDelayRetries": 0,
    "backoffFunction": "linear",
}
DEFAULT_CONTENT_TYPE = "text/plain; charset=UTF-8"
MOST_RETRIES = 100
LONGEST_SECONDS = 3600
BACKOFF = ("linear", "arithmetic", "geometric", "exponential")
CONTENT_TYPES = (
    "application/cloudevents+json", "application/json", "application/octet-stream", "application/soap+xml",
    "application/x-www-form-urlencoded", "application/xhtml+xml", "application/xml", "text/css", "text/csv",
    "text/html", "text/plain", "text/xml",
)  # fmt: skip

_COUNTS = ("numRetries", "numNoDelayRetries", "numMinDelayRetries", "numMaxDelayRetries")
_DELAYS = ("minDelayTarget", "maxDelayTarget")
_PARTS = ("healthyRetryPolicy", "throttlePolicy", "requestPolicy", "sicklyRetryPolicy", "guaranteed")


# --- checking --------------------------------------------------------------------------------------------------------
def check_delivery_policy(text: str) -> None:
    """A subscription's policy. Raises InvalidParameter."""
    policy = _object(text)
    unknown = policy.keys() - set(_PARTS)
    if unknown:
        raise bad(f"Unexpected JSON member: {min(unknown)}")
    _check_parts(policy, "")


def check_topic_policy(text: str) -> None:
    """A topic's policy. Raises InvalidParameter."""
    http = _object(text).get("http")
    if not isinstance(http, dict):
        raise bad("http is required")
    _check_parts({_short(name): value for name, value in http.items()}, "http.")


def _check_parts(policy: Mapping[str, Any], where: str) -> None:
    retry, throttle = policy.get("healthyRetryPolicy"), policy.get("throttlePolicy")
    if retry is not None:
        _check_retry(retry, where)
    if throttle is not None:
        rate = throttle.get("maxReceivesPerSecond") if isinstance(throttle, dict) else None
        if not isinstance(rate, int) or rate < 1:
            raise bad(f"{where}throttlePolicy.maxReceivesPerSecond must be 1 or more")
    kind = (policy.get("requestPolicy") or {}).get("headerContentType")
    if kind is not None and str(kind).partition(";")[0].strip() not in CONTENT_TYPES:
        raise bad(f"{where}requestPolicy.headerContentType is not supported")


def _check_retry(retry: Any, where: str) -> None:
    """Counts of 0-100, delays of 1-3,600 seconds, and no more than an hour in all."""
    if not isinstance(retry, dict):
        raise bad(f"{where}healthyRetryPolicy must be an object")
    whole = {**DEFAULT_RETRY, **retry}
    for name in _COUNTS:
        _check_number(whole, name, 0, MOST_RETRIES, where)
    for name in _DELAYS:
        _check_number(whole, name, 1, LONGEST_SECONDS, where)
    for broken, reason in (
        (
            whole["minDelayTarget"] > whole["maxDelayTarget"],
            "minDelayTarget must not be above maxDelayTarget",
        ),
        (whole["backoffFunction"] not in BACKOFF, f"backoffFunction must be one of {', '.join(BACKOFF)}"),
        (
            sum(whole[name] for name in _COUNTS[1:]) > whole["numRetries"],
            "numRetries is less than its phases",
        ),
    ):
        if broken:
            raise bad(f"{where}healthyRetryPolicy: {reason}")
    if sum(retry_delays(whole)) > LONGEST_SECONDS:
        raise bad(f"{where}healthyRetryPolicy: all retries take longer than {LONGEST_SECONDS} seconds")


def _check_number(retry: Mapping[str, Any], name: str, low: int, high: int, where: str) -> None:
    if not _whole(retry[name]) or not low <= retry[name] <= high:
        raise bad(f"{where}healthyRetryPolicy.{name} must be between {low} and {high}")


def bad(reason: str) -> InvalidParameter:
    """The policy cannot be used."""
    return InvalidParameter.named(f"DeliveryPolicy: {reason}")


def _object(text: str) -> dict[str, Any]:
    try:
        policy = msgspec.json.decode(text)
    except msgspec.DecodeError:
        policy = None
    if not isinstance(policy, dict):
        raise bad("failed to parse JSON")
    return policy


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _short(name: str) -> str:
    """`defaultHealthyRetryPolicy` -> `healthyRetryPolicy`."""
    rest = name.removeprefix("default")
    return rest if rest == name else rest[:1].lower() + rest[1:]


# --- which one holds -------------------------------------------------------------------------------------------------
def effective_policy(subscription: str | None, topic: str | None) -> dict[str, Any]:
    """The subscription's policy, where it has one and may; else the topic's; with AWS's defaults where it is silent."""
    given = _parts(topic, "http")
    if subscription and not given.get("disableSubscriptionOverrides"):
        given |= msgspec.json.decode(subscription)
    effective: dict[str, Any] = {
        "healthyRetryPolicy": {**DEFAULT_RETRY, **(given.get("healthyRetryPolicy") or {})},
        "requestPolicy": {"headerContentType": DEFAULT_CONTENT_TYPE, **(given.get("requestPolicy") or {})},
    }
    if given.get("throttlePolicy"):
        effective["throttlePolicy"] = given["throttlePolicy"]
    return effective


def effective_topic_policy(text: str | None) -> dict[str, Any]:
    """A topic's policy with AWS's defaults where it is silent, in the topic's own form."""
    given = _parts(text, "http")
    effective = effective_policy(None, text)
    http = {f"default{name[:1].upper()}{name[1:]}": value for name, value in effective.items()}
    return {"http": {**http, "disableSubscriptionOverrides": bool(given.get("disableSubscriptionOverrides"))}}


def _parts(text: str | None, member: str) -> dict[str, Any]:
    """Parts of a topic's policy under a subscription's names."""
    policy = msgspec.json.decode(text) if text else {}
    return {_short(name): value for name, value in (policy.get(member) or {}).items()}


# --- retries ---------------------------------------------------------------------------------------------------------
def retry_delays(retry: Mapping[str, Any]) -> list[float]:
    """Seconds before each retry: at once, then the least delay, then rising, then the greatest delay."""
    low, high = float(retry["minDelayTarget"]), float(retry["maxDelayTarget"])
    rising = retry["numRetries"] - sum(retry[name] for name in _COUNTS[1:])
    return [
        *[0.0] * retry["numNoDelayRetries"],
        *[low] * retry["numMinDelayRetries"],
        *(backoff(retry["backoffFunction"], low, high, step, rising) for step in range(1, rising + 1)),
        *[high] * retry["numMaxDelayRetries"],
    ]


def backoff(function: str, low: float, high: float, step: int, steps: int) -> float:
    """The delay of the rising phase's step (1 to `steps`), from `low` to `high`.

    linear: equal differences; arithmetic: differences that grow by equal amounts; geometric: equal quotients;
    exponential: differences that double.
    """
    if steps == 1 or low == high:
        return low if steps == 1 else high
    part = (step - 1) / (steps - 1)
    if function == "geometric":
        return float(low * (high / low) ** part)
    if function == "arithmetic":
        return low + (high - low) * (step - 1) * step / ((steps - 1) * steps)
    if function == "exponential":
        return float(low + (high - low) * (2 ** (step - 1) - 1) / (2 ** (steps - 1) - 1))
    return low + (high - low) * part
