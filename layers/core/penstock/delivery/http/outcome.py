"""Interprets the response to a POST, or a missing response.

SNS retries the statuses 5xx and 429 ("Fanout Amazon SNS notifications to HTTPS endpoints"). For SNS messages, all
statuses except 2xx, 429 and 5xx are permanent failures. An attempt without a response is a failed attempt. The worker
retries events of the REST API for every status except 2xx.
"""

import os
import socket
from typing import Final

from penstock.delivery.delivery import EVENT, Delivery
from penstock.delivery.outcome import (
    FAILS,
    MAX_ERROR_CHARACTERS,
    NOT_ATTEMPTED,
    RESPONDS,
    SHOWS_NOTHING,
    Outcome,
    compute_next_delay_ms,
)
from penstock.endpoint import EndpointInvalid, EndpointRefused

from .resolver import ResolverBusyError

BUSY_DELAY_MS: Final = 1_000


def judge_response(delivery: Delivery, status: int) -> Outcome:
    """Returns the outcome of a response with this status."""
    if 200 <= status < 300:
        return Outcome(status, None, None, RESPONDS)
    failing = status >= 500 or status == 429
    delay = compute_next_delay_ms(delivery) if failing or delivery.kind == EVENT else None
    return Outcome(status, f"HTTP status {status}", delay, FAILS if failing else RESPONDS)


def judge_failure(delivery: Delivery, error: Exception) -> Outcome:
    """Returns the outcome if no response arrived. The guard refused the address, no connection was possible, the
    endpoint closed the connection, or the time limit passed."""
    text = describe_failure(error)[:MAX_ERROR_CHARACTERS]
    if isinstance(error, ResolverBusyError):
        return Outcome(NOT_ATTEMPTED, text, BUSY_DELAY_MS, SHOWS_NOTHING)
    delay = None if isinstance(error, EndpointInvalid) else compute_next_delay_ms(delivery)
    return Outcome(None, text, delay, SHOWS_NOTHING if isinstance(error, EndpointRefused) else FAILS)


def describe_failure(error: Exception) -> str:
    """Returns an error's text. For an operating system's error, omits the error number, as in "Connection refused"."""
    is_system_error = isinstance(error, (ConnectionError, TimeoutError)) or type(error) is OSError
    if is_system_error and isinstance(number := getattr(error, "errno", None), int) and number > 0:
        return os.strerror(number)
    if isinstance(error, socket.gaierror) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
