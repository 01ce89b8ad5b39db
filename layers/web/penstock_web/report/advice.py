"""What an operator can do about a queue, in a sentence a cause, and the page that says more."""

from typing import Final, NamedTuple

from penstock.verdicts import Cause, Kind, Verdict

from .formats import digits, duration


class Advice(NamedTuple):
    """What to do, and the page of the documentation, with the section; empty for none."""

    text: str
    page: str = ""


_OPERATIONS: Final = "docs/operations.md"
_BEHIND: Final = f"{_OPERATIONS}#a-queue-that-falls-behind"

BY_CAUSE: Final[dict[Cause, Advice]] = {
    Cause.NOBODY_RECEIVES: Advice(
        "Start its consumers. If they run, they ask another queue or are refused: 403 in their log.",
        f"{_OPERATIONS}#nobody-receives",
    ),
    Cause.IN_FLIGHT_LIMIT: Advice(
        "Find the consumers that do not delete what they have done; set the timeout of those messages to 0.",
        f"{_OPERATIONS}#throttled",
    ),
    Cause.ENDPOINT_DOWN: Advice(
        "Repair the endpoint; deliveries then go on by themselves.",
        f"{_OPERATIONS}#webhooks-that-do-not-arrive",
    ),
    Cause.POISON_GROUP: Advice(
        "Look at the messages that were received most often; a RedrivePolicy sets them aside.",
        f"{_OPERATIONS}#poison-messages",
    ),
    Cause.HANDLERS_FAIL: Advice(
        "Look for errors in the log of the consumers: nearly every message fails.",
        f"{_OPERATIONS}#poison-messages",
    ),
    Cause.ONE_TENANT: Advice(
        "Slow down the sender of that group, or run more consumers.", f"{_OPERATIONS}#a-noisy-tenant"
    ),
    Cause.CONSUMERS_FELL: Advice("Start the consumers again that have stopped.", _BEHIND),
    Cause.SLOW_HANDLERS: Advice("Look at what the handlers wait for: a database, another service.", _BEHIND),
    Cause.ARRIVALS_ROSE: Advice("Run more consumers.", _BEHIND),
}
BY_KIND: Final[dict[Kind, Advice]] = {
    Kind.FALLING_BEHIND: Advice("Run more consumers.", _BEHIND),
    Kind.DRAINING: Advice("Nothing: it recovers."),
}
REASONS: Final[dict[Kind, str]] = {
    Kind.FALLING_BEHIND: "More arrives than consumers do.",
    Kind.DRAINING: "Consumers do more than arrives.",
    Kind.OK: "Consumers keep up.",
    Kind.IDLE: "Nothing happens.",
}
"""Why, where the verdict names no cause."""
_TAKES_CONSUMERS: Final = (Kind.FALLING_BEHIND, Kind.DRAINING)


def advice_on(verdict: Verdict) -> Advice:
    """What to do. With so many more consumers as it takes, where their number is known."""
    known = BY_CAUSE.get(verdict.cause) if verdict.cause else BY_KIND.get(verdict.kind)
    advice = known or Advice("")
    needed = consumers_needed(verdict)
    return advice._replace(text=" ".join(filter(None, (advice.text, needed))))


def consumers_needed(verdict: Verdict) -> str:
    """How many times as many consumers it takes; empty where that is not known, and where these will do."""
    now, needed = verdict.consumers_now, verdict.consumers_needed
    if verdict.kind not in _TAKES_CONSUMERS or not now or needed is None or needed <= now:
        return ""
    wait = duration(verdict.target_lag_seconds * 1_000_000)
    return f"{digits(needed / now)} times as many as now keep waits under {wait}."


def reason_of(verdict: Verdict) -> str:
    """Why the queue is as it is."""
    return verdict.cause_text or REASONS.get(verdict.kind, "")
