"""Defines the scenarios: the flows during the measured time, and whether the load generator fills the queue before."""

from collections.abc import Callable
from dataclasses import dataclass

from .load import flows
from .load.connection import Flow
from .load.flows import Phase
from .load.wire import Action

FlowMaker = Callable[[Phase], Flow]

SENDS = (Action.SEND, Action.SEND_BATCH)
RECEIVES = (Action.RECEIVE, Action.DELETE, Action.DELETE_BATCH)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Describes a scenario.

    The connections run the flows of `measured` in rotation. With `filled`, the queue contains all messages at
    the start. With `fifo`, the queue is FIFO. The main figure is messages a second until the last response to one of
    `counted`.
    """

    name: str
    what: str
    measured: tuple[FlowMaker, ...]
    counted: tuple[Action, ...]
    filled: bool = False
    drains: bool = True
    fifo: bool = False


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("send_1", "SendMessage", (flows.send_singly,), SENDS, drains=False),
        Scenario("send_10", "SendMessageBatch of 10", (flows.send_tens,), SENDS, drains=False),
        Scenario(
            "receive_delete_10",
            "ReceiveMessage of 10, then DeleteMessageBatch, on a filled queue",
            (flows.receive_delete_tens,),
            RECEIVES,
            filled=True,
        ),
        Scenario(
            "receive_delete_1",
            "ReceiveMessage of 1, then DeleteMessage, on a filled queue",
            (flows.receive_delete_singly,),
            RECEIVES,
            filled=True,
        ),
        Scenario("cycle", "send 1, receive 1, delete 1 on each connection", (flows.cycle,), RECEIVES),
        Scenario(
            "fifo_cycle",
            "send 1, receive 1, delete 1 on a FIFO queue, with 64 message groups for each connection",
            (flows.fifo_cycle,),
            RECEIVES,
            fifo=True,
        ),
        Scenario(
            "warski",
            "half the connections send batches of 1 to 10, while the other half receive 10 and delete",
            (flows.send_random_bulks, flows.receive_delete_tens),
            RECEIVES,
        ),
        Scenario(
            "idle_latency",
            "a consumer in a long poll, and a single send each time that the consumer waits",
            (),
            RECEIVES,
        ),
    )
}
