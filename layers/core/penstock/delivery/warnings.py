"""Logs deliveries that were given up, and endpoints that fail, are paused or respond again, for operators without
graphs."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import Final
from urllib.parse import urlsplit

from penstock.observing.telemetry import OnceAMinute

from .outcome import Finished

SECONDS_BETWEEN_RECORDS: Final = 60.0
"""The minimum time between two records about one endpoint. The next record counts the deliveries that were given up
between the two records.
"""
MAX_ENDPOINTS: Final = 1_000

_log = logging.getLogger(__name__)
_redrives = logging.getLogger("penstock.delivery.redrives")
_redrives.addFilter(OnceAMinute())
_kinds = logging.getLogger("penstock.delivery.kinds")
_kinds.addFilter(OnceAMinute())


class DeliveryWarnings:
    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._logged_at: dict[str, float] = {}
        self._given_up: Counter[str] = Counter()

    def log(self, finished: Iterable[Finished], paused: Sequence[str]) -> None:
        """Logs the deliveries whose last attempt failed, by endpoint, and the endpoints that are now paused."""
        causes: dict[str, str] = {}
        for claimed, outcome, _ in finished:
            if outcome.error is not None and outcome.delay_ms is None:
                endpoint = hide_secrets(claimed.delivery.endpoint)
                self._given_up[endpoint] += 1
                causes[endpoint] = outcome.error
        for endpoint, cause in causes.items():
            if self._may_log(endpoint):
                number = self._given_up.pop(endpoint)
                known = {"endpoint": endpoint, "deliveries": number, "cause": cause}
                _log.warning("deliveries were given up", extra=known)
        for endpoint in paused:
            cause = causes.get(hide_secrets(endpoint), "its attempts fail")
            known = {"endpoint": hide_secrets(endpoint), "cause": cause}
            _log.warning("deliveries to an endpoint are paused", extra=known)

    def log_changes(self, failing: Iterable[str], recovered: Iterable[str]) -> None:
        """Logs endpoints that have failed for two minutes, and endpoints that respond again. For each host, writes at
        most one record of each kind per minute."""
        for endpoint in map(hide_secrets, failing):
            if self._may_log(f"fails {find_host(endpoint)}"):
                _log.warning("an endpoint fails", extra={"endpoint": endpoint})
        for endpoint in map(hide_secrets, recovered):
            if self._may_log(f"answers {find_host(endpoint)}"):
                _log.info("an endpoint answers again", extra={"endpoint": endpoint})

    def _may_log(self, key: str) -> bool:
        """Returns whether a minute has passed since the last record with this key. If a minute has passed, starts the
        next minute."""
        now = self._clock()
        if now - self._logged_at.get(key, float("-inf")) < SECONDS_BETWEEN_RECORDS:
            return False
        if len(self._logged_at) >= MAX_ENDPOINTS:
            self._logged_at.clear()
        self._logged_at[key] = now
        return True


def find_host(endpoint: str) -> str:
    """Returns the host and port of a URL, or another endpoint unchanged."""
    return urlsplit(endpoint).netloc or endpoint


def log_expired(number: int) -> None:
    """Logs deliveries that were given up after waiting too long for paused endpoints."""
    cause = "their endpoints were paused for too long"
    _log.warning("deliveries were given up", extra={"deliveries": number, "cause": cause})


def log_failed_redrives(number: int) -> None:
    """Logs that dead-letter queues could not take deliveries that were given up, at most once a minute."""
    if number:
        _redrives.warning("dead-letter queues could not take deliveries", extra={"deliveries": number})


def log_unknown_kind(kind: str) -> None:
    """Logs a delivery that this process cannot send, because a newer release wrote it, at most once a minute."""
    _kinds.error("this process has no carrier for a delivery", extra={"delivery_kind": kind})


def hide_secrets(endpoint: str) -> str:
    """Returns an endpoint without user, password and query string, which can contain secrets."""
    if not endpoint.startswith(("http://", "https://")):
        return endpoint
    parts = urlsplit(endpoint)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
