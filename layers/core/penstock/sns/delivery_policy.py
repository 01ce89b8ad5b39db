"""Validates SNS's delivery policies, which set the message rate, retries and content type of HTTP(S) endpoints.

The functions are pure. Source: "Amazon SNS message delivery retries" and the two pages on the JSON of delivery policies
in the SNS Developer Guide. AWS's pages name the members, the limits, the phases and both ends of the back-off. AWS
shows the curves between the ends only as a picture, so the formulas are Penstock's choice. AWS adds jitter; Penstock
does not.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from penstock.aws.json_text import decode_json

from .errors import InvalidParameter

Policy = Mapping[str, Any]  # JSON whose members were checked before it was stored

MAX_RETRY_SECONDS: Final = 3_600
MAX_CHARACTERS: Final = 30_720  # Penstock's choice; all members together need less than 1,000 characters
CONTENT_TYPE: Final = "text/plain; charset=UTF-8"

# The minimum and the maximum of each member.
_RETRY_LIMITS: Final[dict[str, tuple[int, int | None]]] = {
    "minDelayTarget": (1, MAX_RETRY_SECONDS),
    "maxDelayTarget": (1, MAX_RETRY_SECONDS),
    "numRetries": (0, 100),
    "numMaxDelayRetries": (0, None),
    "numNoDelayRetries": (0, None),
    "numMinDelayRetries": (0, None),
}
_THROTTLE_LIMITS: Final[dict[str, tuple[int, int | None]]] = {"maxReceivesPerSecond": (1, None)}
_CURVES: Final = ("linear", "arithmetic", "geometric", "exponential")
# Source: "Creating an HTTP/S delivery policy". Without raw delivery, only the first three types in the list are
# allowed.
_CONTENT_TYPES: Final = frozenset(
    {
        "text/plain", "application/json", "application/xml", "text/css", "text/csv", "text/html", "text/xml",
        "application/atom+xml", "application/octet-stream", "application/soap+xml",
        "application/x-www-form-urlencoded", "application/xhtml+xml",
    }
)  # fmt: skip
DEFAULT_RETRY: Final[Policy] = {
    "minDelayTarget": 20,
    "maxDelayTarget": 20,
    "numRetries": 3,
    "numMaxDelayRetries": 0,
    "numNoDelayRetries": 0,
    "numMinDelayRetries": 0,
    "backoffFunction": "linear",
}
_DEFAULT_REQUEST: Final[Policy] = {"headerContentType": CONTENT_TYPE}


def build_policy_error(reason: str) -> InvalidParameter:
    return InvalidParameter.named(f"DeliveryPolicy: {reason}", member="DeliveryPolicy")


# --- effective policies ----------------------------------------------------------------------------------------------
def compute_effective_policy(subscription: str | None, topic: str | None) -> Policy:
    """Returns a subscription's EffectiveDeliveryPolicy. Each section comes from the subscription, the topic, or AWS's
    defaults.

    The texts of both policies were validated earlier. None and an empty string mean that no policy is set.
    """
    http = _read(topic).get("http") or {}
    own = {} if http.get("disableSubscriptionOverrides") else _read(subscription)
    throttle = own.get("throttlePolicy") or http.get("defaultThrottlePolicy")
    request = own.get("requestPolicy") or http.get("defaultRequestPolicy") or {}
    retries = own.get("healthyRetryPolicy") or http.get("defaultHealthyRetryPolicy") or {}
    return {
        "healthyRetryPolicy": {**DEFAULT_RETRY, **_drop_absent(retries)},
        "sicklyRetryPolicy": None,
        "throttlePolicy": throttle,
        "requestPolicy": {**_DEFAULT_REQUEST, **_drop_absent(request)},
        "guaranteed": False,
    }


def compute_effective_topic_policy(topic: str | None) -> Policy:
    """Returns a topic's EffectiveDeliveryPolicy, which applies to subscriptions without a delivery policy."""
    http = _read(topic).get("http") or {}
    policy = compute_effective_policy(None, topic)
    response: dict[str, object] = {
        "defaultHealthyRetryPolicy": policy["healthyRetryPolicy"],
        "disableSubscriptionOverrides": bool(http.get("disableSubscriptionOverrides")),
    }
    if policy["throttlePolicy"]:
        response["defaultThrottlePolicy"] = policy["throttlePolicy"]
    return {"http": {**response, "defaultRequestPolicy": policy["requestPolicy"]}}


def show_policy(text: str) -> str:
    """Returns a subscription's policy in the form for clients, without null members."""
    return msgspec.json.encode(_remove_nulls(_read(text))).decode()


def show_topic_policy(text: str) -> str:
    """Returns a topic's policy in the form for clients, with `disableSubscriptionOverrides`."""
    first = {"defaultHealthyRetryPolicy": None, "disableSubscriptionOverrides": False}  # in AWS's order
    http = _read(text).get("http") or {}
    return msgspec.json.encode({"http": _remove_nulls({**first, **http})}).decode()


def _remove_nulls(section: Policy) -> dict[str, object]:
    return {
        name: _remove_nulls(value) if isinstance(value, dict) else value
        for name, value in section.items()
        if value is not None
    }


def retry_delays(retry: Policy) -> list[float]:
    """Returns the seconds before each retry, in the immediate, pre-backoff, backoff and post-backoff phases."""
    retries = {**DEFAULT_RETRY, **_drop_absent(retry)}
    shortest, longest = retries["minDelayTarget"], retries["maxDelayTarget"]
    at_once, early, late = (retries[f"num{phase}DelayRetries"] for phase in ("No", "Min", "Max"))
    between = retries["numRetries"] - at_once - early - late
    share = _BACKOFF_CURVES[retries["backoffFunction"]]
    curve = [shortest + (longest - shortest) * share(i, between - 1, longest / shortest) for i in range(between)]
    return [0.0] * at_once + [float(shortest)] * early + curve + [float(longest)] * late


# The position of retry i (from 0 to last) between the shortest delay (0) and the longest delay (1). `ratio` is longest
# / shortest.
_BACKOFF_CURVES: Final[dict[str, Callable[[int, int, float], float]]] = {
    # The steps are equal.
    "linear": lambda i, last, _: i / last if last else 0.0,
    # Each step is longer than the previous one by the same amount.
    "arithmetic": lambda i, last, _: i * (i + 1) / (last * (last + 1)) if last else 0.0,
    # Each delay is longer than the previous one by the same factor.
    "geometric": lambda i, last, ratio: (ratio ** (i / last) - 1) / (ratio - 1) if last and ratio > 1 else 0.0,
    # Each step is twice the previous step.
    "exponential": lambda i, last, _: (2**i - 1) / (2**last - 1) if last else 0.0,
}


# --- checks ----------------------------------------------------------------------------------------------------------
def check_delivery_policy(text: str) -> None:
    """Validates a subscription's policy. An empty string removes the policy. Raises InvalidParameter."""
    document = _check_object(_parse_given(text), "")
    _check_sections(document, "", "healthyRetryPolicy", "throttlePolicy", "requestPolicy")


def check_topic_policy(text: str) -> None:
    """Validates a topic's policy. An empty string removes the policy. Raises InvalidParameter."""
    document = _check_object(_parse_given(text), "")
    _check_names(document, {"http"})
    http = _check_object(document.get("http"), "http")
    _check_sections(http, "http.", "defaultHealthyRetryPolicy", "defaultThrottlePolicy", "defaultRequestPolicy")


def _check_sections(document: Policy, path: str, retries: str, throttle: str, request: str) -> None:
    old = {"sicklyRetryPolicy", "guaranteed", "defaultSicklyRetryPolicy", "disableSubscriptionOverrides"}
    _check_names(document, {retries, throttle, request} | old)
    _check_retries(_check_object(document.get(retries), path + retries), path + retries)
    _check_numbers(_check_object(document.get(throttle), path + throttle), path + throttle, _THROTTLE_LIMITS)
    content_type = _drop_absent(_check_object(document.get(request), path + request)).get(
        "headerContentType", CONTENT_TYPE
    )
    if not isinstance(content_type, str) or content_type.partition(";")[0].strip() not in _CONTENT_TYPES:
        raise build_policy_error(f"{path}{request}.headerContentType is not a supported content type")
    if not content_type.isascii() or not content_type.isprintable():
        raise build_policy_error(f"{path}{request}.headerContentType is not a supported content type")


def _check_retries(retries: Policy, path: str) -> None:
    _check_numbers(retries, path, _RETRY_LIMITS, "backoffFunction")
    whole = {**DEFAULT_RETRY, **_drop_absent(retries)}
    if whole["backoffFunction"] not in _CURVES:
        raise build_policy_error(f"{path}.backoffFunction must be one of {', '.join(_CURVES)}")
    if whole["maxDelayTarget"] < whole["minDelayTarget"]:
        raise build_policy_error(f"{path}.maxDelayTarget must be greater than or equal to minDelayTarget")
    if whole["numRetries"] < sum(whole[f"num{phase}DelayRetries"] for phase in ("No", "Min", "Max")):
        raise build_policy_error(
            f"{path}.numRetries must be greater than or equal to the sum of numNoDelayRetries,"
            " numMinDelayRetries and numMaxDelayRetries"
        )
    if sum(retry_delays(whole)) > MAX_RETRY_SECONDS:
        raise build_policy_error(f"{path}: total retry time must be less than or equal to {MAX_RETRY_SECONDS}")


def _check_numbers(section: Policy, path: str, limits: Mapping[str, tuple[int, int | None]], *others: str) -> None:
    _check_names(section, {*limits, *others})
    for name, (least, greatest) in limits.items():
        value = section.get(name)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            raise build_policy_error(f"{path}.{name} must be an integer")
        if value < least:
            raise build_policy_error(f"{path}.{name} must be greater than or equal to {least}")
        if greatest is not None and value > greatest:
            raise build_policy_error(f"{path}.{name} must be less than or equal to {greatest}")


def _check_names(section: Policy, known: set[str]) -> None:
    for name in section:
        if name not in known:
            raise build_policy_error(f"Unexpected JSON member: {name}")


def _check_object(value: object, path: str) -> Policy:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise build_policy_error(f"{path} must be a JSON object".lstrip())
    return value


def _parse_given(text: str) -> object:
    if len(text) > MAX_CHARACTERS:
        raise build_policy_error(f"must not be longer than {MAX_CHARACTERS} characters")
    return _parse(text)


def _parse(text: str) -> Any:
    try:
        return decode_json(text) if text else None
    except (ValueError, RecursionError) as error:
        raise build_policy_error("failed to parse JSON") from error


def _read(text: str | None) -> Policy:
    return _check_object(_parse(text or ""), "")


def _drop_absent(section: Policy) -> Policy:
    return {name: value for name, value in section.items() if value is not None}
