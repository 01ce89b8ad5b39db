"""Reports messages that filters could not judge and therefore accepted."""

import logging
from typing import Final, Literal

from penstock.effects import Operation
from penstock.observing.reports import Unjudged
from penstock.observing.telemetry import OnceAMinute

_log: Final = logging.getLogger("penstock.filters")
_log.addFilter(OnceAMinute())


def report_unjudged(by: Literal["publish", "event", "mapping"], name: str, count: int) -> Operation[None]:
    """Counts messages, and logs one warning a minute. `name` is the messages' topic ARN or routing key."""
    if count:
        log_unjudged(by, name)
        yield Unjudged(by, count)


def log_unjudged(by: Literal["publish", "event", "mapping"], name: str) -> None:
    """Logs one warning a minute."""
    _log.warning(
        "messages were too complicated for filters, and passed the filters unchecked", extra={"by": by, "source": name}
    )
