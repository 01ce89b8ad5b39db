"""Records the receives of queues with the attribute PenstockTrace.

A receive of such a queue makes a second call, after the receive's transaction. If the call fails, the receive fails,
and the messages become visible again after their timeout. If the process ends between the calls, the trace has no
row.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from penstock.access.audit.acts import clean
from penstock.effects import Call, Operation
from penstock.observing.reports import Client
from penstock.postgres.statements.message_life import TRACE_RECEIVE
from penstock.postgres.statements.messages import ReceivedRow

MAX_AGENT_LENGTH: Final = 200

_read_columns = attrgetter("public_id", "receive_count", "sent_at_ms")


def trace_receive(messages: Sequence[ReceivedRow], caller: str | None, client: Client) -> Operation[None]:
    """Records that the caller received these messages of one queue. The default of `caller` is the client's ARN."""
    agent = client.http.headers.get(b"user-agent", b"")[:MAX_AGENT_LENGTH].decode("latin-1")
    ids = [message.handle[6] for message in messages]
    columns = zip(*map(_read_columns, messages), strict=True)
    yield from Call(
        TRACE_RECEIVE,
        (messages[0].queue_id, ids, *map(list, columns), clean(caller or client.caller_arn), clean(agent)),
    )
