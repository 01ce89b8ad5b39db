"""Causes in plain English."""

from typing import Final

from .types import Cause, Facts

CAUSES: Final[dict[Cause, str]] = {
    Cause.NOBODY_RECEIVES: "Messages wait and no consumer receives them.",
    Cause.QUEUE_PAUSED: "The queue is paused: messages wait until somebody resumes it.",
    Cause.IN_FLIGHT_LIMIT: "The limit of messages in flight is reached: receives return nothing until one is deleted.",
    Cause.ENDPOINT_DOWN: "An endpoint does not answer: its deliveries are paused; undeliverable messages arrive here.",
    Cause.MAPPING_STOPPED: "Messages wait: their mapping to a function was stopped.",
    Cause.FUNCTION_FAILS: "A function that the queue triggers fails.",
    Cause.POISON_GROUP: "Some messages are received again and again and never deleted.",
    Cause.HANDLERS_FAIL: "Messages are received, and hardly any is deleted: handlers fail.",
    Cause.DEAD_LETTERS_WAIT: "Messages that failed wait here until they are redriven or deleted.",
    Cause.ONE_TENANT: "One message group makes most of the work.",
    Cause.CONSUMERS_FELL: "Consumers do less than before, though each message takes as long: some have stopped.",
    Cause.SLOW_HANDLERS: "Consumers do less than before, since each message takes longer.",
    Cause.ARRIVALS_ROSE: "More messages arrive than before.",
}


def describe_cause(cause: Cause | None, facts: Facts) -> str:
    """Returns the sentence about a cause, with details of a mapping, or an empty text without a cause."""
    if cause is None:
        return ""
    details = {Cause.MAPPING_STOPPED: facts.stopped_mapping, Cause.FUNCTION_FAILS: facts.failing_result}
    detail = details.get(cause, "").removeprefix("PROBLEM: ")
    return f"{CAUSES[cause]} {detail[:1].upper()}{detail[1:].rstrip('.')}." if detail else CAUSES[cause]
