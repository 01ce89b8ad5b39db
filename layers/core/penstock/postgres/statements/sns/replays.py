"""Statements of the worker that replays archived messages (`penstock.sns.replays`)."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from penstock.postgres.statement import Statement


class ReplayRow(NamedTuple):
    """A claimed replay, which has delivered `page`. `last_page` is None if more than one page is left."""

    subscription_id: UUID
    topic_arn: str
    replay_id: int
    page: int
    starts_at: datetime
    ends_at: datetime | None
    last_page: int | None


CLAIM_REPLAY = Statement("queue.claim_replay", ("int8",), ReplayRow)


class ReplayedRow(NamedTuple):
    """The numbers of messages that the filter policy accepted, and of those that the queue has refused."""

    accepted: int
    refused: int


DELIVER_REPLAYED = Statement("queue.deliver_replayed", ("uuid", "int8", "bool", "jsonb[]", "bool"), ReplayedRow)


class DelayedReplayRow(NamedTuple):
    delayed: bool


DELAY_REPLAY = Statement("queue.delay_replay", ("uuid", "int4"), DelayedReplayRow)
