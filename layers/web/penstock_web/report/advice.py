"""Suggests remedies for a queue to an operator: one sentence for each cause, with a page that explains more."""

from typing import Final, NamedTuple

from penstock.verdicts import Cause, Kind, Verdict

from .formats import digits


class Advice(NamedTuple):
    """The suggestion, and the address on a running service that explains more. `page` is empty if there is no such
    page.
    """

    text: str
    page: str = ""


_THROTTLED: Final = "/docs/operate/waiting/#the-queue-is-throttled"
_POISON: Final = "/docs/operate/poison/"
_STOPPED: Final = "/docs/reference/event_source_mappings/#a-mapping-that-stopped"
_BEHIND: Final = "/docs/operate/waiting/#consumers-are-too-slow"

BY_CAUSE: Final[dict[Cause, Advice]] = {
    Cause.NOBODY_RECEIVES: Advice(
        "Start its consumers. If they run, check whether they read another queue, or are refused (403 in their log)",
        "/docs/operate/waiting/#no-consumer-receives",
    ),
    Cause.QUEUE_PAUSED: Advice("Resume it when its consumers may continue", _THROTTLED),
    Cause.IN_FLIGHT_LIMIT: Advice(
        "Find consumers that do not delete; set the timeout of those messages to 0", _THROTTLED
    ),
    Cause.ENDPOINT_DOWN: Advice(
        "Repair the endpoint; deliveries then continue", "/docs/operate/not_delivered/#a-delivery"
    ),
    Cause.MAPPING_STOPPED: Advice("Remove the cause, then run: penstock mappings enable", _STOPPED),
    Cause.FUNCTION_FAILS: Advice("Look at the function's log, and check that the service can reach it", _STOPPED),
    Cause.POISON_GROUP: Advice("Look at the messages with most receives; a RedrivePolicy sets them aside", _POISON),
    Cause.HANDLERS_FAIL: Advice("Look for errors in the consumers' log: hardly any message succeeds", _POISON),
    Cause.DEAD_LETTERS_WAIT: Advice(
        "Find out why they failed, then redrive or delete them", "/docs/guides/dead_letters/"
    ),
    Cause.ONE_TENANT: Advice(
        "Slow down the sender of that group, or run more consumers", "/docs/operate/waiting/#a-noisy-tenant"
    ),
    Cause.CONSUMERS_FELL: Advice("Start the stopped consumers again, or more", _BEHIND),
    Cause.SLOW_HANDLERS: Advice("Look at what handlers wait for, or run more consumers", _BEHIND),
    Cause.ARRIVALS_ROSE: Advice("Run more consumers", _BEHIND),
}
BY_KIND: Final[dict[Kind, Advice]] = {
    Kind.FALLING_BEHIND: Advice("Run more consumers", _BEHIND),
    Kind.DRAINING: Advice("Nothing: it recovers"),
}
REASONS: Final[dict[Kind, str]] = {
    Kind.FALLING_BEHIND: "More messages arrive than consumers process.",
    Kind.DRAINING: "Consumers process more messages than arrive.",
    Kind.OK: "Consumers keep up.",
    Kind.IDLE: "Nothing happens.",
}
"""The reason for a verdict that names no cause."""


def advice_on(verdict: Verdict) -> Advice:
    """Says what to do. The text names the factor by which to increase the consumers, if more consumers help and their
    number is known.
    """
    known = BY_CAUSE.get(verdict.cause) if verdict.cause else BY_KIND.get(verdict.kind)
    if known is None:
        return Advice("")
    return known._replace(text=f"{known.text}{times_as_many(verdict)}.")


def times_as_many(verdict: Verdict) -> str:
    """Returns by which factor the number of consumers must grow. Returns an empty text if the number is unknown or if
    the present consumers are enough.
    """
    now, needed = verdict.consumers_now, verdict.consumers_needed
    if verdict.kind is not Kind.FALLING_BEHIND or not now or needed is None or needed <= now:
        return ""
    return f" ({digits(needed / now)} times as many)"


def explain_verdict(verdict: Verdict) -> str:
    """Explains the state of the queue."""
    return verdict.cause_text or REASONS.get(verdict.kind, "")
