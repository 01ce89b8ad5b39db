"""The words for the states of queues, endpoints, schedules, mappings and subscribers. Each interface shows a state by
its word."""

from typing import Final

from .types import Cause, Kind

STATES: Final = {
    "endpoint_paused": "paused",
    "endpoint_fails": "fails",
    "mapping_fails": "fails",
    "mapping_stopped": "stopped",
    "schedule_fails": "fails",
    "schedule_paused": "paused",
    "schedules_late": "late",
    "deliveries_late": "late",
    "subscriber_lags": "lags",
    "subscriber_stopped": "stopped",
    "subscriber_fails": "fails",
    "subscriber_drops": "drops events",
}
"""The words for kinds of concerns. Other kinds and verdicts are their own words, with `_` replaced by a space."""

CAUSES: Final = {Cause.QUEUE_PAUSED.value: "paused", Cause.FUNCTION_FAILS.value: "mapping fails"}
"""The words for verdicts with these causes, which tell a user more than the kind."""

COUNTED: Final = {
    "dead_letters": ("dead letter", "dead letters"),
    "messages_expire": ("expired message", "expired messages"),
    "given_up": ("delivery", "deliveries"),
    "endpoint_paused": ("delivery", "deliveries"),
    "endpoint_fails": ("delivery", "deliveries"),
    "deliveries_late": ("delivery", "deliveries"),
    "schedules_late": ("schedule", "schedules"),
    "schedule_fails": ("failure", "failures"),
    "schedule_paused": ("failure", "failures"),
    "mapping_fails": ("failed invocation", "failed invocations"),
    "mapping_stopped": ("failed invocation", "failed invocations"),
    "subscriber_lags": ("event", "events"),
    "subscriber_stopped": ("event", "events"),
    "subscriber_fails": ("event", "events"),
    "subscriber_drops": ("event", "events"),
    "old_transaction": ("transaction", "transactions"),
    "old_snapshot": ("transaction", "transactions"),
}
"""What the number of a kind of concern counts: one and several. Verdicts count messages."""


def count_in_words(kind: str, number: int) -> str:
    """Returns a concern's number with the noun that it counts, such as "3 failures"."""
    one, several = COUNTED.get(kind, ("message", "messages"))
    return f"{number:,} {one if number == 1 else several}"


def name_state(kind: str, cause: str | None = None) -> str:
    """Returns the word for a verdict or a kind of concern. Only a user pauses a queue or an endpoint, so an endpoint to
    which deliveries wait after failures fails.
    """
    return CAUSES.get(cause or "") or STATES.get(kind, kind.replace("_", " "))


def name_kind(kind: str) -> str:
    """Returns the word for a verdict or a kind of concern whose cause is not known."""
    return "paused or throttled" if kind == Kind.THROTTLED.value else name_state(kind)


def explain_delay(kind: str, blocker: str | None, *, is_done_here: bool) -> str:
    """Returns what to do about late schedules or deliveries, as a sentence. `kind` is the kind of their concern.
    `blocker` names an old transaction with locks (queue.read_late_work). `is_done_here` says whether this process fires
    schedules or makes deliveries.
    """
    is_schedule = kind == "schedules_late"
    if blocker is not None:
        return f"{blocker}: end its transaction."
    if is_done_here:
        return f"This process {'fires schedules' if is_schedule else 'makes deliveries'}: its log says why it did not."
    if is_schedule:
        return "A process with QUEUE_SCHEDULE_ENABLED fires schedules."
    return "A process with QUEUE_HTTP_DELIVERY_ENABLED makes them."
