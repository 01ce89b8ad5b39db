"""Describes a forecast: its method and errors, and warnings. Gives the reason if there is no forecast."""

from collections.abc import Iterator
from typing import Final

from penstock.management.metrics.types import Outlook, QueueLag, Warnings

from .formats import count, duration, rate

_METHODS: Final = {
    "trend_15m": "trend of 15 minutes",
    "trend_1h": "trend of an hour",
    "trend_6h": "trend of 6 hours",
    "damped_trend": "damped trend",
    "usual_level": "return to the usual level",
    "hourly": "same as an hour before",
    "daily": "same as a day before",
    "weekly": "same as a week before",
}
_REASONS: Final = {
    "too_little_past": "too little history",
    "no_method_beats_unchanged": "no method is better than a forecast without change",
    "intervals_do_not_hold": "intervals of earlier forecasts were wrong too often",
}


def forecast_text(outlook: Outlook | None) -> str:
    """Returns the method, its mean error, and the mean error of a forecast without change. Returns the reason if there
    is no forecast.
    """
    if outlook is None:
        return ""
    if outlook.method is None:
        return _REASONS.get(outlook.reason or "", "")
    name = outlook.method.removesuffix("_fading")
    errors = f"mean error {count(outlook.mean_error)}, or {count(outlook.unchanged_error)} without change"
    return f"{_METHODS.get(name, name)}, {errors}"


def format_interval(outlook: Outlook | None) -> str:
    """Returns the level of the interval, and how many intervals of the backtest contained the depth: `80 % (held 82
    %)`.
    """
    if outlook is None or outlook.interval_level is None:
        return ""
    held = "" if outlook.interval_coverage is None else f" (held {outlook.interval_coverage * 100:.0f} %)"
    return f"{outlook.interval_level * 100:.0f} %{held}"


def build_warning_texts(queue: QueueLag) -> Iterator[str]:
    """Yields warnings about a queue's next days."""
    warnings = queue.warnings or Warnings()
    if warnings.retention_seconds is not None:
        when = duration(warnings.retention_seconds * 1_000_000)
        yield f"Messages will expire in {when}, before consumers receive them."
    if warnings.fastest_rate is not None:
        drained, arrive = rate(warnings.fastest_rate), rate(warnings.mean_rate)
        yield f"Consumers cannot catch up. The best hour drained {drained} messages per second, but {arrive} arrive."
