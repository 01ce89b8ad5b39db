"""Defines the steps that Hypothesis combines. Each rule makes requests to the model and to the service in a random
protocol.
"""

from itertools import count
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.support.conformance.sqs import ACCOUNT
from tests.support.model import generators as g
from tests.support.model.model import ACCEPTED
from tests.support.model.side_by_side import MINUTE, ServiceUnderTest, SideBySide


class SqsMachine(SideBySide, RuleBasedStateMachine):
    """A subclass sets `service`.

    The class counts the `steps` of all examples, and keeps the end of the `first_failure`. Hypothesis shows only a
    reproducible failure, but a failure in the service may not be reproducible.
    """

    service: ServiceUnderTest
    steps = 0
    first_failure = ""

    def __init__(self) -> None:
        RuleBasedStateMachine.__init__(self)
        SideBySide.__init__(self, self.service)
        self.numbers = count(1)

    # --- queues ------------------------------------------------------------------------------------------------------
    @initialize(drawn=st.tuples(*[g.configurations] * len(g.QUEUES)), protocol=g.protocols)
    def open(self, drawn: tuple[dict[str, Any], ...], protocol: str) -> None:
        """Creates dead-letter queues first, because a policy must name an existing queue."""
        self.protocol = protocol
        for name, configuration in reversed(list(zip(g.QUEUES, drawn, strict=True))):
            self.create(name, configuration)

    @rule(name=g.names, action=st.sampled_from("cccppd"), configuration=g.configurations, protocol=g.protocols)
    def come_and_go(self, name: str, action: str, configuration: dict[str, Any], protocol: str) -> None:
        """Calls CreateQueue (also for an existing queue), PurgeQueue or DeleteQueue."""
        self.protocol, full = protocol, self.name(name)
        if action == "c":
            return self.create(name, configuration)
        if action == "p":
            self.on(full, self.model.purge(full), "purge_queue")
        else:
            self.on(full, self.model.delete_queue(full), "delete_queue")
        return self.check(full)

    @rule(name=g.names, change=g.changes, protocol=g.protocols)
    def set_attributes(self, name: str, change: tuple[dict[str, Any], str | None], protocol: str) -> None:
        self.protocol, full = protocol, self.name(name)
        drawn, refused = change
        attributes = drawn if refused else self.attributes(name, drawn)
        if not attributes:
            return
        codes = frozenset((refused,)) | self.model.missing(full) if refused else ACCEPTED
        codes = codes or self.model.set_attributes(full, attributes)
        self.on(full, codes, "set_queue_attributes", Attributes=attributes)
        self.check(full)

    @rule(name=g.names, key=st.sampled_from("abc"), value=st.sampled_from(("", "1", "ü")), protocol=g.protocols)
    def read_queue(self, name: str, key: str, value: str, protocol: str) -> None:
        """Reads the queues' tags, names and attributes."""
        self.protocol = protocol
        self.tag(self.name(name), key, value)
        self.list_queues()
        self.check(*map(self.name, g.QUEUES))

    # --- sending -----------------------------------------------------------------------------------------------------
    @rule(name=g.names, message=g.messages, protocol=g.protocols)
    def send(self, name: str, message: g.Outline, protocol: str) -> None:
        self.protocol, full = protocol, self.name(name)
        entry = message.entry(name.endswith(".fifo"), next(self.numbers))
        response = self.on(full, self.model.check_send(full, entry), "send_message", **entry)
        if response is not None:
            self.note_sent(full, entry, response)
        self.check(full)

    @rule(name=g.names, drawn=st.lists(g.messages, min_size=1, max_size=10), protocol=g.protocols)
    def send_batch(self, name: str, drawn: list[g.Outline], protocol: str) -> None:
        """Sends a batch. The service checks each entry separately."""
        self.protocol = protocol
        self.send_outlines(name, drawn)
        self.check(self.name(name))

    @rule(name=g.names, drawn=st.lists(g.sound_messages, min_size=3, max_size=8), protocol=g.protocols)
    def produce(self, name: str, drawn: list[g.Outline], protocol: str) -> None:
        self.send_batch(name, drawn, protocol)

    @rule(name=g.names, noisy=st.integers(0, 2), busy=st.integers(0, 5), quiet=g.sound_messages, protocol=g.protocols)
    def burst(self, name: str, noisy: int, busy: int, quiet: g.Outline, protocol: str) -> None:
        """Sends sixty messages in one group, whose messages keep consumers busy, and then messages in other groups.
        Receives the messages.
        """
        self.protocol, full = protocol, self.name(name)
        self.send_outlines(name, [g.Outline(group=noisy)] * 60)
        for _ in range(busy):
            self.take(full, 10, 10 * MINUTE)
        if busy:
            self.pass_time(MINUTE)
        self.send_outlines(name, [quiet._replace(group=(noisy + 1 + n) % 4, identity=None) for n in range(3)])
        self.receive(name, 10, None, protocol)

    def send_outlines(self, name: str, outlines: list[g.Outline]) -> None:
        """Sends messages with SendMessageBatch, ten at a time."""
        entries = [outline.entry(name.endswith(".fifo"), next(self.numbers)) for outline in outlines]
        for first in range(0, len(entries), 10):
            self.send_together(self.name(name), entries[first : first + 10])

    # --- receiving ---------------------------------------------------------------------------------------------------
    @rule(name=g.names, most=st.integers(1, 10), seconds=g.visibilities, protocol=g.protocols)
    def receive(self, name: str, most: int, seconds: int | None, protocol: str) -> None:
        self.protocol, full = protocol, self.name(name)
        self.take(full, most, seconds)
        self.check(full, *([self.name(g.SOURCES[name])] if name in g.SOURCES else []))

    @rule(name=g.names, seconds=g.visibilities, protocol=g.protocols)
    def receive_ten(self, name: str, seconds: int | None, protocol: str) -> None:
        """Receives messages like another rule, so that Hypothesis draws receives twice as often."""
        self.receive(name, 10, seconds, protocol)

    @rule(name=g.names, actions=g.actions, another=st.booleans(), protocol=g.protocols)
    def work(self, name: str, actions: list[Any], another: bool, protocol: str) -> None:
        """Imitates a consumer: receives messages, deletes some, makes some visible, extends the timeout of some and
        abandons some. Another consumer receives messages immediately.
        """
        self.protocol, full = protocol, self.name(name)
        done = list(zip(self.take(full, len(actions), MINUTE), actions, strict=False))
        if deleted := [handle for handle, action in done if action == "delete"]:
            self.acknowledge(full, deleted)
        if hidden := {handle: action for handle, action in done if isinstance(action, int)}:
            self.hide(full, hidden)
        self.check(full)
        if another:
            self.receive(name, 10, MINUTE, protocol)

    @rule(name=g.names, most=st.integers(1, 10), times=st.integers(2, 4), protocol=g.protocols)
    def poison(self, name: str, most: int, times: int, protocol: str) -> None:
        """Receives without deletes until messages move to the dead-letter queue."""
        for _ in range(times):
            self.receive(name, most, 0, protocol)

    # --- handles -----------------------------------------------------------------------------------------------------
    @rule(name=g.names, number=g.picks, protocol=g.protocols)
    def delete(self, name: str, number: int, protocol: str) -> None:
        self.protocol, full = protocol, self.name(name)
        handle = self.pick(full, number)
        self.on(full, self.model.delete(full, handle), "delete_message", ReceiptHandle=handle)
        self.check(full)

    @rule(name=g.names, numbers=st.lists(g.picks, min_size=1, max_size=10), protocol=g.protocols)
    def delete_batch(self, name: str, numbers: list[int], protocol: str) -> None:
        """Deletes messages, and then uses a handle again. Handles for one message are never in the same batch, because
        AWS does not define the order of entries.
        """
        self.protocol, full = protocol, self.name(name)
        handles = [self.pick(full, number) for number in numbers]
        chosen = self.one_a_message(handles)
        self.acknowledge(full, [text for text in handles if text in chosen])
        self.check(full)

    @rule(
        name=g.names,
        number=g.picks,
        seconds=st.sampled_from((0, MINUTE, 10 * MINUTE, g.HALF_A_DAY, g.HALF_A_DAY + 1)),
        protocol=g.protocols,
    )
    def change_visibility(self, name: str, number: int, seconds: int, protocol: str) -> None:
        self.protocol, full = protocol, self.name(name)
        handle = self.pick(full, number)
        codes = self.model.change(full, handle, seconds)
        more = {"ReceiptHandle": handle, "VisibilityTimeout": seconds}
        self.on(full, codes, "change_message_visibility", **more)
        self.check(full)

    @rule(
        name=g.names,
        drawn=st.dictionaries(g.picks, st.sampled_from((0, MINUTE, g.HALF_A_DAY)), min_size=1, max_size=10),
        protocol=g.protocols,
    )
    def change_visibility_batch(self, name: str, drawn: dict[int, int], protocol: str) -> None:
        """Uses each message only once, because AWS does not define the order of entries."""
        self.protocol, full = protocol, self.name(name)
        handles = {self.pick(full, number): value for number, value in drawn.items()}
        chosen = self.one_a_message(handles)
        self.hide(full, {text: value for text, value in handles.items() if text in chosen})
        self.check(full)

    # --- message move tasks ------------------------------------------------------------------------------------------
    @rule(task=g.tasks, protocol=g.protocols)
    def move(self, task: tuple[str, str | None], protocol: str) -> None:
        """Calls StartMessageMoveTask, runs the worker until the task has ended, and calls ListMessageMoveTasks."""
        name, destination = task
        self.protocol, full = protocol, self.name(name)
        target = destination and self.name(destination)
        more = {"DestinationArn": self.arn(target)} if target else {}
        codes = self.model.check_move(full, target)
        response = self.call(codes, "start_message_move_task", SourceArn=self.arn(full), **more)
        if response is None:
            return
        lines, whole = self.model.movable(full, target)
        self.service.clock.move(self.arn(full))
        listed = self.call(ACCEPTED, "list_message_move_tasks", SourceArn=self.arn(full)) or {}
        moved = self.note_moved(full, lines, whole)
        assert listed["Results"][0]["Status"] == ("COMPLETED" if whole else "FAILED")
        assert listed["Results"][0]["ApproximateNumberOfMessagesMoved"] == moved
        self.check(full, *{copy.target for line in lines for copy in line})

    # --- time --------------------------------------------------------------------------------------------------------
    @rule(seconds=g.pauses, protocol=g.protocols)
    def advance(self, seconds: int, protocol: str) -> None:
        """Advances the clock. After the clock has advanced, the worker expires messages."""
        self.protocol = protocol
        self.pass_time(seconds)
        self.check(*map(self.name, g.QUEUES))

    @rule(protocol=g.protocols)
    def wait_a_minute(self, protocol: str) -> None:
        """Waits until recently received messages are visible again."""
        self.advance(MINUTE, protocol)

    @rule(name=g.names, protocol=g.protocols)
    def maintain(self, name: str, protocol: str) -> None:
        """Runs maintenance, which must not change visible state."""
        self.protocol = protocol
        self.service.maintain(self.arn(self.name(name)))
        self.check(self.name(name))

    @invariant()
    def after_a_step(self) -> None:
        self.retain()
        self.intact = True
        type(self).steps += 1

    # --- the end -----------------------------------------------------------------------------------------------------
    def teardown(self) -> None:
        """Receives and deletes all remaining messages, and then deletes the queues."""
        try:
            if self.intact:
                self.drain()
                self.intact = True
        finally:
            if not self.intact:
                type(self).first_failure = self.first_failure or "\n".join(self.trace[-30:])
            for full in self.model.queues:
                self.service.call("json", "delete_queue", QueueUrl=f"http://sqs/{ACCOUNT}/{full}")
            self.service.forget()
