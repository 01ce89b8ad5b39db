"""What an operator can do about a queue, in a sentence a cause, and the page that says more."""

from typing import Final, NamedTuple

from penstock.verdicts import Cause, Kind, Verdict

from .formats import digits


class Advice(NamedTuple):
    """What to do, and the page in docs/ with its section that says more; empty for none."""

    text: str
    page: str = ""


_OPERATIONS: Final = "operations.md"
_MAPPINGS: Final = "event_source_mappings.md"
_BEHIND: Final = f"{_OPERATIONS}#a-queue-that-falls-behind"

BY_CAUSE: Final[dict[Cause, Advice]] = {
    Cause.NOBODY_RECEIVES: Advice(
        "Start its consumers. If they run: another queue, or refused (403 in their log)",
        f"{_OPERATIONS}#nobody-receives",
    ),
    Cause.QUEUE_PAUSED: Advice("Resume it, once its consumers may go on", f"{_OPERATIONS}#throttled"),
    Cause.IN_FLIGHT_LIMIT: Advice(
        "Find consumers that do not delete; set the timeout of those messages to 0",
        f"{_OPERATIONS}#throttled",
    ),
    Cause.ENDPOINT_DOWN: Advice(
        "Repair the endpoint; deliveries then go on", f"{_OPERATIONS}#deliveries-that-do-not-arrive"
    ),
    Cause.MAPPING_STOPPED: Advice(
        "Remove the reason, then: penstock mappings enable", f"{_MAPPINGS}#a-mapping-that-stands"
    ),
    Cause.FUNCTION_FAILS: Advice(
        "Look at the function's log, and whether it can be reached", f"{_MAPPINGS}#a-mapping-that-stands"
    ),
    Cause.POISON_GROUP: Advice(
        "Look at those received most often; a RedrivePolicy sets them aside", f"{_OPERATIONS}#poison-messages"
    ),
    Cause.HANDLERS_FAIL: Advice(
        "Look for errors in the consumers' log: hardly a message succeeds", f"{_OPERATIONS}#poison-messages"
    ),
    Cause.ONE_TENANT: Advice(
        "Slow down the sender of that group, or run more consumers", f"{_OPERATIONS}#a-noisy-tenant"
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
    Kind.FALLING_BEHIND: "More arrives than consumers do.",
    Kind.DRAINING: "Consumers do more than arrives.",
    Kind.OK: "Consumers keep up.",
    Kind.IDLE: "Nothing happens.",
}
"""Why, where the verdict names no cause."""


def advice_on(verdict: Verdict) -> Advice:
    """What to do; where more consumers help, how many times as many, if their number is known."""
    known = BY_CAUSE.get(verdict.cause) if verdict.cause else BY_KIND.get(verdict.kind)
    if known is None:
        return Advice("")
    return known._replace(text=f"{known.text}{times_as_many(verdict)}.")


def times_as_many(verdict: Verdict) -> str:
    """How many times as many consumers it takes; empty where that is not known, and where these will do."""
    now, needed = verdict.consumers_now, verdict.consumers_needed
    if verdict.kind is not Kind.FALLING_BEHIND or not now or needed is None or needed <= now:
        return ""
    return f" ({digits(needed / now)} times as many)"


def explain_verdict(verdict: Verdict) -> str:
    """Why the queue is as it is."""
    return verdict.cause_text or REASONS.get(verdict.kind, "")
