"""Tests the warnings in the log: deliveries that were given up, and paused endpoints."""

from __future__ import annotations

import ssl
from typing import Any
from uuid import uuid4

import pytest

from penstock.delivery.delivery import Delivery
from penstock.delivery.http.outcome import describe_failure
from penstock.delivery.outcome import Claimed, Finished, Outcome
from penstock.delivery.warnings import SECONDS_BETWEEN_RECORDS, DeliveryWarnings, hide_secrets

URL = "https://user:secret@a.test:8443/hook?token=secret"


def finished(delay_ms: int | None, error: str | None = "status 503") -> Finished:
    delivery = Delivery(1, "000000000000", f"000000000000 {URL}", URL, "event", uuid4(), None, None, False, None, 0, "")
    return Finished(Claimed(delivery, uuid4()), Outcome(503, error, delay_ms, -1))


def records(caplog: pytest.LogCaptureFixture) -> list[tuple[Any, ...]]:
    names = ("levelname", "message", "endpoint", "deliveries", "cause")
    found = [tuple(getattr(one, name, None) for name in names) for one in caplog.records]
    caplog.clear()
    return found


def test_each_endpoint_has_one_record_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    warnings = DeliveryWarnings(lambda: now[0])
    warnings.log([finished(1000), finished(None, None)], [])
    assert records(caplog) == []
    given_up = ("WARNING", "deliveries were given up", "https://a.test:8443/hook")
    warnings.log([finished(None), finished(None)], [])
    assert records(caplog) == [(*given_up, 2, "status 503")]
    warnings.log([finished(None)] * 3, [])
    assert records(caplog) == []
    now[0] += SECONDS_BETWEEN_RECORDS
    warnings.log([finished(None)], [])
    assert records(caplog) == [(*given_up, 4, "status 503")]


def test_the_beginning_of_a_pause_has_a_record(caplog: pytest.LogCaptureFixture) -> None:
    DeliveryWarnings().log([], [URL])
    paused = ("WARNING", "deliveries to an endpoint are paused", "https://a.test:8443/hook", None, "its attempts fail")
    assert records(caplog) == [paused]


def test_a_failing_host_has_one_record_a_minute_and_one_when_it_answers(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    now = [0.0]
    warnings = DeliveryWarnings(lambda: now[0])
    other = URL.replace("hook", "other")
    fails, answers = ("WARNING", "an endpoint fails"), ("INFO", "an endpoint answers again")
    for _ in range(2):
        warnings.log_changes([URL, other], [])
        warnings.log_changes([], [URL, other])
        assert [record[:3] for record in records(caplog)] == [
            (*fails, "https://a.test:8443/hook"),
            (*answers, "https://a.test:8443/hook"),
        ]
        now[0] += SECONDS_BETWEEN_RECORDS


@pytest.mark.parametrize(
    ("endpoint", "shown"),
    [
        (URL, "https://a.test:8443/hook"),
        ("http://[::1]:80/x", "http://[::1]:80/x"),
        ("arn:aws:lambda:us-east-1:1:function:f", "arn:aws:lambda:us-east-1:1:function:f"),
    ],
)
def test_an_endpoint_is_shown_without_secrets(endpoint: str, shown: str) -> None:
    assert hide_secrets(endpoint) == shown


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 21381)"), "Connection refused"),
        (TimeoutError(110, "[Errno 110] Connect call failed ('10.0.0.1', 80)"), "Connection timed out"),
        (OSError(113, "x"), "No route to host"),
        (ConnectionResetError(), "ConnectionResetError"),
        (ssl.SSLError(1, "certificate verify failed"), "certificate verify failed"),
        (ValueError("no answer"), "no answer"),
    ],
)
def test_an_error_of_the_system_has_no_number(error: Exception, text: str) -> None:
    assert describe_failure(error) == text
