"""Suggests a remedy for each cause of a verdict."""

from typing import Final, NamedTuple

from penstock.verdicts import Cause, Kind, Verdict

from .formats import digits


class Advice(NamedTuple):
    """A remedy. `page` is the path of a documentation page, or "" if no page describes the remedy."""

    text: str
    page: str = ""


_THROTTLED: Final = "/docs/operate/waiting/#the-queue-is-throttled"
_POISON: Final = "/docs/operate/poison/"
_STOPPED: Final = "/docs/reference/event_source_mappings/#a-mapping-that-stopped"
_BEHIND: Final = "/docs/operate/waiting/#consumers-are-too-slow"

BY_CAUSE: Final[dict[Cause, Advice]] = {
    Cause.NOBODY_RECEIVES: Advice(
        "Start the consumers. If the consumers run, check their queue name, and look for status 403 in their logs",
        "/docs/operate/waiting/#no-consumer-receives",
    ),
    Cause.QUEUE_PAUSED: Advice("Resume the queue when the consumers can continue", _THROTTLED),
    Cause.IN_FLIGHT_LIMIT: Advice(
        "Find consumers that do not delete messages. Set the messages' visibility timeouts to 0", _THROTTLED
    ),
    Cause.ENDPOINT_DOWN: Advice(
        "Repair the endpoint. Deliveries then continue", "/docs/operate/not_delivered/#a-delivery"
    ),
    Cause.MAPPING_STOPPED: Advice("Remove the cause of the failures, then run: penstock mappings enable", _STOPPED),
    Cause.FUNCTION_FAILS: Advice(
        "Look at the function's log, and check that the service can reach the function", _STOPPED
    ),
    Cause.POISON_GROUP: Advice(
        "Look at the messages with the most receives. A RedrivePolicy would move such messages away",
        _POISON,
    ),
    Cause.HANDLERS_FAIL: Advice("Look for errors in the consumers' logs. Hardly any message succeeds", _POISON),
    Cause.DEAD_LETTERS_WAIT: Advice(
        "Find the reason for the failures. Then redrive the messages or delete them", "/docs/guides/dead_letters/"
    ),
    Cause.ONE_GROUP: Advice(
        "Slow down the group's sender, or run more consumers", "/docs/operate/waiting/#a-noisy-group"
    ),
    Cause.CONSUMERS_FELL: Advice("Restart the stopped consumers, or start more consumers", _BEHIND),
    Cause.SLOW_HANDLERS: Advice("Find the reason why handlers are slow, or run more consumers", _BEHIND),
    Cause.ARRIVALS_ROSE: Advice("Run more consumers", _BEHIND),
}
BY_KIND: Final[dict[Kind, Advice]] = {
    Kind.FALLING_BEHIND: Advice("Run more consumers", _BEHIND),
    Kind.DRAINING: Advice("Nothing. The queue recovers"),
}
REASONS: Final[dict[Kind, str]] = {
    Kind.FALLING_BEHIND: "The backlog does not shrink.",
    Kind.DRAINING: "Consumers process more messages than arrive.",
    Kind.OK: "Consumers keep up.",
    Kind.IDLE: "No messages arrive or wait.",
}
"""The explanations of verdicts that have no cause."""


def advice_on(verdict: Verdict) -> Advice:
    """Returns the remedy for a verdict. If the queue needs more consumers and their number is known, the text contains
    the factor.
    """
    known = BY_CAUSE.get(verdict.cause) if verdict.cause else BY_KIND.get(verdict.kind)
    if known is None:
        return Advice("")
    return known._replace(text=f"{known.text}{times_as_many(verdict)}.")


def times_as_many(verdict: Verdict) -> str:
    """Returns the factor by which the number of consumers must grow. Returns an empty string if the number is unknown
    or sufficient.
    """
    now, needed = verdict.consumers_now, verdict.consumers_needed
    if verdict.kind is not Kind.FALLING_BEHIND or not now or needed is None or needed <= now:
        return ""
    return f" ({digits(needed / now)} times as many)"


def explain_verdict(verdict: Verdict) -> str:
    """Returns a sentence that explains the verdict."""
    return verdict.cause_text or REASONS.get(verdict.kind, "")
