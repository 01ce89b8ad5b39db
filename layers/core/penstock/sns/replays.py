"""Replays the archived messages of FIFO topics to subscriptions, for the worker `penstock.workers.events`.

A step is one transaction, which reads pages of the archive, sends their messages to the subscribed queue, and moves the
replay. Each message therefore arrives exactly once for each replay, also after a crash. A step sends about 1,000
messages, or one page while live events of buses arrive, so that the worker continues with events of buses. Source:
"Amazon SNS message replay for FIFO topic subscribers"
(https://docs.aws.amazon.com/sns/latest/dg/message-archiving-and-replay-subscriber.html).
"""

from collections import Counter
from typing import Final, NamedTuple
from uuid import UUID

import msgspec
import psycopg

from penstock.aws.sns_arn import TopicArn, parse_topic_arn
from penstock.environment import Environment
from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statement import Row
from penstock.postgres.statements.event_delivery import READ_EVENT_PAGES, PageRow
from penstock.postgres.statements.sns.replays import CLAIM_REPLAY, DELAY_REPLAY, DELIVER_REPLAYED, ReplayRow
from penstock.sqs import digests
from penstock.sqs.types import MessageAttributeValue

from . import notification
from .publishing.publications import (
    MAX_RAW_ATTRIBUTES,
    Publication,
    build_facts,
    build_publisher_context,
)

PAGE_EVENTS: Final = 1000
PAGE_BYTES: Final = 8 << 20
LAST_READS: Final = 5
"""The most reads of the step that ends a replay. Publications of the topic wait for this step."""
PAUSE_SECONDS: Final = 5
"""The pause after a step that the database has refused."""
REPLAYED: Final = MessageAttributeValue("String", "true")
"""The message attribute `Replayed` of raw deliveries, which have no envelope."""

_json = msgspec.json.Encoder()


class ArchivedParts(msgspec.Struct):
    """The parts of an archived message besides its text (queue.archive_publications)."""

    number: int
    subject: str | None = None
    attributes: dict[str, MessageAttributeValue] = {}
    timestamp: str | None = None


class Read(NamedTuple):
    """The last page of a read, and its messages and those of the pages before it, in the format of publications."""

    page: int
    publications: list[bytes]


class ReplayStep:
    """Replays on one autocommit connection. Raises psycopg.Error if the connection is broken."""

    def __init__(self, connection: "psycopg.Connection[Row]", environment: Environment, counts: "Counter[str]") -> None:
        self._connection = connection
        self._calls = TransactionExecutor(connection)
        self._environment = environment
        self._counts = counts

    def deliver(self, archive_id: int, *, yields: bool = False) -> bool:
        """Delivers the next pages of the replay that has waited for the longest. Returns whether a replay moved. With
        `yields`, delivers only a page, and then all replays pause."""
        claimed: list[ReplayRow] = []
        try:
            with self._connection.transaction():
                claimed += self._calls.call(CLAIM_REPLAY, [archive_id])
                for replay in claimed:
                    self._replay(archive_id, replay, yields)
        except psycopg.Error:
            if self._connection.broken or not claimed:
                raise
            # One queue that cannot be written must not stop the worker.
            self._counts["failed"] += 1
            self._calls.call(DELAY_REPLAY, [claimed[0].subscription_id, PAUSE_SECONDS])
            return False
        return bool(claimed)

    def _replay(self, archive_id: int, replay: ReplayRow, yields: bool) -> None:
        page = replay.page
        if replay.last_page is None:
            read = self._read(archive_id, page, replay, 1 if yields else PAGE_EVENTS)
            self._send(replay, read, yields, completes=False)
            return
        for _ in range(LAST_READS):
            if page >= replay.last_page:
                break
            read = self._read(archive_id, page, replay, PAGE_EVENTS)
            self._send(replay, read, yields, completes=False)
            page = read.page
        if page >= replay.last_page:
            self._send(replay, Read(page, []), yields, completes=True)

    def _read(self, archive_id: int, after: int, replay: ReplayRow, events: int) -> Read:
        rows = self._calls.call(READ_EVENT_PAGES, [archive_id, after, events, PAGE_BYTES])
        if not rows:  # the maintenance has removed the pages
            return Read(max(after, replay.last_page or after), [])
        ends_at = replay.ends_at
        wanted = [
            row
            for row in rows[1:]
            if row.ingested_at >= replay.starts_at and (ends_at is None or row.ingested_at <= ends_at)
        ]
        topic = parse_topic_arn(replay.topic_arn)
        assert topic is not None  # noqa: S101 - the database has the ARN of a topic
        base_url = build_publisher_context(topic, self._environment).link_base_url
        return Read(rows[0].page, [self._build(row, replay, topic, base_url) for row in wanted])

    def _build(self, row: PageRow, replay: ReplayRow, topic: TopicArn, base_url: str) -> bytes:
        publication, is_judged = build_publication(row, replay.replay_id, topic, base_url)
        self._counts["unjudged"] += not is_judged
        return _json.encode(publication)

    def _send(self, replay: ReplayRow, read: Read, yields: bool, *, completes: bool) -> None:
        arguments = [replay.subscription_id, read.page, completes, read.publications, yields]
        (row,) = self._calls.call(DELIVER_REPLAYED, arguments)
        self._counts["delivered"] += row.accepted - row.refused
        self._counts["failed"] += row.refused


def build_publication(row: PageRow, replay_id: int, topic: TopicArn, base_url: str) -> tuple[Publication, bool]:
    """Returns an archived message as a replay delivers it, and whether filter policies on the body can judge it.

    The message id, the text and the time are the original's. Filter policies compare the original attributes. The
    deduplication id differs for each replay, so that a FIFO queue does not drop the message as a duplicate of the
    original (our choice). A raw message with ten attributes has no attribute `Replayed`, because a queue accepts only
    ten (our choice).
    """
    parts = msgspec.convert(row.metadata, ArchivedParts)
    text = bytes(row.data).decode()
    message_id = str(UUID(str(row.event_id)))
    at = parts.timestamp or notification.format_timestamp(row.ingested_at)
    about = (str(topic), message_id, text, parts.subject, at, parts.attributes)
    envelope = notification.mark_replayed(notification.build_fifo_notification(base_url, *about))
    facts, is_judged = build_facts(parts.attributes, text)
    is_full = len(parts.attributes) >= MAX_RAW_ATTRIBUTES
    attributes = parts.attributes if is_full else {**parts.attributes, "Replayed": REPLAYED}
    attribute_bytes = digests.size_of_attributes(attributes)
    publication = Publication(
        message_id=message_id,
        contents={"*": {"raw": text, **envelope._asdict()}},
        facts=facts,
        attribute_bytes=attribute_bytes,
        request_bytes=len(row.data) + attribute_bytes,
        attributes=attributes,
        group_id=row.group_id,
        deduplication_id=f"{replay_id}:{message_id}",
        subject=parts.subject,
        sequence_number=parts.number,
    )
    return publication, is_judged
