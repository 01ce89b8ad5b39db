"""The answer of a send is lost after its commit while a receive waits for the message."""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from penstock.aws.resolved_queue import ResolvedQueue
from penstock.effects import BatchCall, Woken
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.messages import SEND_MESSAGES, SendEntry
from penstock_web.batching.direct_handoff import DirectHandoff
from penstock_web.batching.pending_batch import PendingEffect
from penstock_web.batching.write_backpressure import WriteBackpressure
from penstock_web.database.calls import StatementCall
from penstock_web.database.pipeline_connection import PipelineConnection
from penstock_web.database.pipeline_pool import open_pipeline_connection
from penstock_web.database.pool import OutcomeUnknown
from penstock_web.long_poll.dispatcher import LongPollDispatcher
from tests.support.database import Database
from tests.support.web.fakes import ORDERS, RowT, take


class LossyPool:
    """The server commits each transaction, and its answer is lost."""

    def __init__(self, pipeline: PipelineConnection) -> None:
        self._pipeline = pipeline

    def lease_pipeline(self) -> "nullcontext[LossyPool]":
        return nullcontext(self)

    async def call_in_transaction(self, calls: Sequence[StatementCall]) -> list[list[Row]]:
        await self._pipeline.call_in_transaction(calls)
        raise OutcomeUnknown

    async def call(self, statement: Statement[RowT], arguments: Sequence[Any], /) -> list[RowT]:
        raise NotImplementedError


async def send_while_somebody_waits(dsn: str) -> Woken | list[Any]:
    async def execute(statement: Statement[RowT], arguments: Sequence[Any], /) -> list[RowT]:
        return []

    pipeline = await open_pipeline_connection(dsn, 8)
    long_polls = LongPollDispatcher(execute)
    handoff = DirectHandoff(LossyPool(pipeline), long_polls, WriteBackpressure())
    waiting = long_polls.wait(ResolvedQueue(ORDERS), 20, long_polls.next_ticket(), receive=take(1))
    entry = SendEntry(ORDERS, uuid4().bytes, b"new", 3, None, None, None, None, None)
    effect = BatchCall(SEND_MESSAGES, [entry], (False,), queue_arn=ORDERS)
    with pytest.raises(OutcomeUnknown):
        await handoff.send([PendingEffect(effect, asyncio.Future(), 1, 0.0)], lambda *_: None)
    pipeline.close()
    return await waiting


async def test_a_message_of_a_lost_handoff_counts_as_received(database: Database) -> None:
    """The receive continues and finds the remaining messages. A message may therefore become a dead letter after
    fewer answered receives than maxReceiveCount.
    """
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        connection.execute("select queue.create('orders')")
        connection.execute("select queue.send('orders', '\"old\"')")
        assert await send_while_somebody_waits(database.dsn) == Woken.FOR_ONE
        in_flight = "select body, receive_count from queue.peek_messages(%s, 'in_flight', 0, 10)"
        assert connection.execute(in_flight, [ORDERS]).fetchall() == [('"old"', 1)]
        assert connection.execute("select count(*) from queue.receive('orders', 30, 10)").fetchone() == (1,)
