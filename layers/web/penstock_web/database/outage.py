"""Logs two records for each database outage, instead of one record for each attempt."""

import logging
from collections.abc import Callable
from time import monotonic
from typing import Final

from penstock.postgres.call_deadline import CallOverdue
from penstock.postgres.sqlstates import Meaning, find_error_meaning

_log = logging.getLogger(__name__)

# Error texts of PostgreSQL and PgBouncer. psycopg gives no SQLSTATE for a refused connection.
_FULL_POOLER: Final = ("no more connections", "query_wait_timeout")
_TOO_MANY: Final = ("too many clients", "too many connections", "remaining connection slots", *_FULL_POOLER)

_NO_FREE_CONNECTION: Final = "no database connection is free"
_NO_POOLER: Final = "PostgreSQL answers; the pooler of DATABASE_URL does not"


def is_shortage(cause: BaseException) -> bool:
    """Returns whether the server or the pooler works but has no free connection."""
    return any(text in str(cause) for text in _TOO_MANY)


def is_full_pooler(cause: BaseException) -> bool:
    """Returns whether PgBouncer works and has no free connection."""
    return any(text in str(cause) for text in _FULL_POOLER)


def explain_failure(cause: BaseException | None, *, is_listening: bool, is_pooled: bool) -> str:
    """Returns the probable reason why a call got no result. `cause` is the error of the last attempt to connect to
    DATABASE_URL. `is_listening` says whether the LISTEN connection is open, and `is_pooled` says whether any other
    connection is open.
    """
    if cause is not None and is_shortage(cause):
        return _NO_FREE_CONNECTION
    if not is_listening:
        return "the database does not answer"
    return f"{_NO_POOLER}: its connections may all be busy" if is_pooled else _NO_POOLER


def log_begin(who: str, cause: BaseException, reason: str = "") -> None:
    """Logs the beginning of an outage. In an outage, the database is read-only, has too few connections or is
    unusable, another transaction keeps a lock, or a call through the pooler got no answer. `reason` is the text from
    `explain_failure`, or empty."""
    line, is_overdue = " ".join(str(cause).split()), isinstance(cause, CallOverdue)
    meaning = find_error_meaning(cause)
    if meaning is Meaning.LOCKED:
        _log.error("another transaction keeps a lock: trying again until it ends", extra={"worker": who, "cause": line})
    elif meaning is Meaning.READ_ONLY:
        _log.error("database read-only: trying again until it takes changes", extra={"worker": who, "cause": line})
    elif is_full_pooler(cause):
        extra = {"worker": who, "cause": line}
        _log.error("the pooler of DATABASE_URL has no free connection: trying again until one is free", extra=extra)
    elif is_shortage(cause) or (is_overdue and reason == _NO_FREE_CONNECTION):
        _log.error(
            "database has too few connections: trying again until one is free", extra={"worker": who, "cause": line}
        )
    elif is_overdue and reason.startswith(_NO_POOLER):
        extra = {"worker": who, "cause": line, "reason": reason}
        _log.error("a call through the pooler of DATABASE_URL got no answer: trying again", extra=extra)
    else:
        _log.error("database unavailable: trying again until it is back", extra={"worker": who, "cause": line})


class Outage:
    """Collects the failures and successes of the workers and of the LISTEN connection. Only one event loop uses this
    object.

    An outage begins with the first failure, and ends when every failed part has worked again. `explain` returns the
    probable reason why a call got no result (`Pool.explain_failure`).
    """

    def __init__(self, explain: Callable[[], str] = str) -> None:
        self._explain = explain
        self._failing: set[str] = set()
        self._attempts = 0
        self._began = 0.0

    def fails(self, who: str, cause: BaseException) -> None:
        """Reports that a part of the process failed to use the database and will try again."""
        if not self._failing:
            self._began, self._attempts = monotonic(), 0
            log_begin(who, cause, self._explain())
        self._failing.add(who)
        self._attempts += 1

    def works(self, who: str) -> None:
        """Reports that a part of the process has used the database, or no longer needs the database."""
        if who not in self._failing:
            return
        self._failing.remove(who)
        if not self._failing:
            seconds = round(monotonic() - self._began, 1)
            _log.warning("database available again", extra={"seconds": seconds, "failed_attempts": self._attempts})
