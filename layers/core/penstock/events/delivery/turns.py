"""Takes turns for the requests of batches to API destinations, so that all workers together keep their rates."""

from collections import Counter
from time import monotonic
from typing import Final

from penstock.drivers import StatementExecutor
from penstock.postgres.statements.api_destinations import TAKE_API_DESTINATION_TURNS

from .batches import Batch, Destination

HTTP: Final = "http"
"""The carrier of API destinations (queue.event_subscriber.carrier)."""
MAX_BODY: Final = 1 << 20
"""The most bytes of a request with several events (our choice). The other events of its batch need another request."""


def take_turns(batches: list[Batch], calls: StatementExecutor) -> list[Batch]:
    """Returns the batches with the API destinations of their subscribers. The requests of a batch have the turns after
    those of the batch before. Raises psycopg.Error."""
    wanted = Counter[str]()
    for batch in batches:
        if batch.subscriber.carrier == HTTP:
            wanted[batch.subscriber.target_arn] += count_requests(batch)
    if not wanted:
        return batches
    rows = {row.arn: row for row in calls.call(TAKE_API_DESTINATION_TURNS, [list(wanted), list(wanted.values())])}
    turns = {arn: monotonic() + row.wait_ms / 1000 for arn, row in rows.items()}
    placed = []
    for batch in batches:
        row = rows.get(batch.subscriber.target_arn)
        if row is None:
            placed.append(batch)
            continue
        requests = count_requests(batch)
        placed.append(batch._replace(destination=Destination(row, turns[row.arn], requests)))
        turns[row.arn] += requests * row.pause_ms / 1000
    return placed


def count_requests(batch: Batch) -> int:
    """Returns the most requests that a batch can need, except for texts that a transformation makes longer."""
    subscriber = batch.subscriber
    if len(subscriber.sources) > (subscriber.transformer is not None):  # a parameter has an expression
        return max(1, len(batch.events))
    return 1 + batch.bytes // MAX_BODY
