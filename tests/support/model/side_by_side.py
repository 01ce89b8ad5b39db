"""Runs the model and the service side by side. The model must allow each of the service's responses.

Real clients call the service in either protocol. A test can advance the clock.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from time import time
from typing import Any, NamedTuple

from botocore.exceptions import ClientError
from hypothesis import note, reject

from tests.support.conformance.database_clock import Clock
from tests.support.conformance.requests import md5_of_attributes, md5_of_body
from tests.support.conformance.sqs import ACCOUNT, REGION, Refusal, Sqs, read_refusal
from tests.support.model import generators as g
from tests.support.model.model import ACCEPTED, Codes, Counts, Model, Moved
from tests.support.model.queue import HALF_A_DAY, Message, Queue

# Every duration in the model is a multiple of a minute, and the clock advances by minutes. Less than a minute of real
# time therefore has no effect.
MINUTE = 60

_numbers = count(1)


class Stored(NamedTuple):
    """Represents a message in the tables."""

    message_id: str
    body: str
    group: str | None
    attributes: frozenset[str]  # only names


@dataclass
class ServiceUnderTest:
    """Calls one deployment in both protocols for one caller. `offset` is the total of the clock's advances in
    seconds.
    """

    json: Sqs
    query: Sqs
    clock: Clock
    offset: int = 0
    requests: int = 0
    began: float = field(default_factory=time)

    def begin(self) -> str:
        """Begins a new example. Returns a prefix for unused names."""
        self.began = time()
        return f"m{next(_numbers)}-"

    @property
    def is_too_slow(self) -> bool:
        """Returns whether one of the example's timeouts can have ended in the real time since `begin`."""
        return time() - self.began > MINUTE

    def call(self, protocol: str, method: str, **parameters: Any) -> dict[str, Any] | Refusal:
        """Makes one request. Returns the result or the refusal."""
        sqs = self.json if protocol == "json" else self.query
        self.requests += 1
        try:
            response = dict(getattr(sqs.client, method)(**parameters))
        except ClientError:
            last = sqs.response
            assert last.headers is not None
            return read_refusal(protocol, last.status, last.headers, last.body)
        del response["ResponseMetadata"]
        return response

    def advance(self, seconds: int) -> None:
        self.clock.advance(seconds)
        self.offset += seconds

    def moment(self, stamp: str) -> int:
        """Returns a time from a response, in milliseconds, without the clock's advances."""
        return int(stamp) + 1000 * self.offset

    def maintain(self, arn: str) -> None:
        """Runs the worker's periodic maintenance until no work is left."""
        query = "select queue.maintain_queue(q.queue_id) from queue.queues q where q.arn = %s"
        while (row := self.clock.connection.execute(query, [arn]).fetchone()) and row[0]:
            pass

    def forget(self) -> None:
        """Cleans up deleted queues, which keeps the tables small for the next example."""
        self.clock.connection.execute("select queue.maintain_installation(1000000, 1)")

    def stored(self, arn: str) -> list[Stored]:
        """Returns a queue's messages by id without a receive, because a receive would move messages.

        `peek_messages` omits messages whose retention is over, also those that have just moved to a dead-letter queue
        with a shorter retention. The change of the retention is rolled back.
        """
        for_ever = 'update queue.queues set attributes = attributes || \'{"MessageRetentionPeriod": "1000000000"}\''
        query = (
            "select m.message_id, m.body, m.group_id, m.attributes"
            " from unnest(array['visible', 'in_flight', 'delayed']) s(state),"
            " queue.peek_messages(%s, s.state, null, 100000) m order by m.public_id"
        )
        with self.clock.connection.transaction(force_rollback=True):
            self.clock.connection.execute(f"{for_ever} where arn = %s".encode(), [arn])
            rows = self.clock.connection.execute(query, [arn]).fetchall()
        return [
            Stored(message_id, body, group, frozenset(json.loads(attributes or "{}")))
            for message_id, body, group, attributes in rows
        ]


FORGED = "A" * 60
COUNTS = [f"ApproximateNumberOfMessages{kind}" for kind in ("", "NotVisible", "Delayed")]
STATUS = {"AWS.SimpleQueueService.PurgeQueueInProgress": 403, "ResourceNotFoundException": 404}  # 400 for other codes


class SideBySide:
    """Runs one example with new queues in a model and in the service. `protocol` is the protocol of the next requests.

    `intact` is false during a step and after a failed step.
    """

    def __init__(self, service: ServiceUnderTest) -> None:
        self.service = service
        self.prefix = service.begin()
        self.model = Model(self.arn)
        self.base_ms = service.moment(str(int(service.clock.now().timestamp() * 1000)))
        self.protocol = "json"
        self.intact = True
        self.trace: list[str] = []

    def name(self, name: str) -> str:
        return self.prefix + name

    def arn(self, name: str) -> str:
        return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"

    # --- requests and responses ---------------------------------------------------------------------------------------
    def call(self, codes: Codes, method: str, **parameters: Any) -> dict[str, Any] | None:
        """Makes a request, and checks that the model allows its response. Returns None after an allowed refusal."""
        response = self.ask(method, **parameters)
        if isinstance(response, Refusal):
            assert response.code in codes
            assert response.status == STATUS.get(response.code, 400)
            return None
        assert codes == ACCEPTED
        return response

    def ask(self, method: str, **parameters: Any) -> dict[str, Any] | Refusal:
        """Makes a request in the current step's protocol."""
        if self.service.is_too_slow:  # The rest of the example cannot show a fault.
            reject()
        self.intact = False
        response = self.service.call(self.protocol, method, **parameters)
        self.say(f"{self.protocol} {method} {brief(parameters)} -> {brief(response)}")
        return response

    def say(self, text: str) -> None:
        """Prints the step for the report of a failure."""
        note(f"    {text}")
        self.trace.append(text)

    def on(self, name: str, codes: Codes, method: str, **parameters: Any) -> dict[str, Any] | None:
        """Makes a request to a queue, and checks that the model allows its response."""
        return self.call(codes, method, QueueUrl=f"http://sqs/{ACCOUNT}/{name}", **parameters)

    def check(self, *names: str) -> None:
        """Checks that all attributes and counts of the queues equal the model's attributes and counts."""
        for name in names:
            response = self.on(name, self.model.missing(name), "get_queue_attributes", AttributeNames=["All"])
            if response is None:
                continue
            queue, found = self.model.queues[name], response["Attributes"]
            assert Counts(*(int(found[key]) for key in COUNTS)) == queue.counts(self.model.now)
            assert queue.attributes.items() <= found.items()
            assert ("RedrivePolicy" in found) == ("RedrivePolicy" in queue.attributes)
            assert found["QueueArn"] == queue.arn

    # --- queues ------------------------------------------------------------------------------------------------------
    def create(self, name: str, configuration: dict[str, Any]) -> None:
        drawn = self.attributes(name, configuration)
        attributes, full = {key: value for key, value in drawn.items() if value != ""}, self.name(name)
        codes = self.model.create(full, attributes)
        response = self.call(codes, "create_queue", QueueName=full, Attributes=attributes)
        if response is not None:
            assert response["QueueUrl"].endswith(f"/{ACCOUNT}/{full}")
        self.check(full)

    def attributes(self, name: str, drawn: dict[str, Any]) -> dict[str, str]:
        """Returns the drawn attributes that the queue may have. Only FIFO queues have FIFO attributes. Queues that
        receive moved messages have no delay, because AWS does not document whether the delay applies.
        """
        attributes = {key: value for key, value in drawn.items() if key != "redrive"}
        for key in () if name.endswith(".fifo") else ("ContentBasedDeduplication", "DeduplicationScope"):
            attributes.pop(key, None)
        if name not in g.SOURCES:
            attributes.pop("DelaySeconds", None)
        elif "redrive" in drawn:
            policy = g.redrive_policy(self.arn(self.name(g.SOURCES[name])), drawn["redrive"])
            attributes["RedrivePolicy"] = policy if drawn["redrive"] else ""
        if "VisibilityTimeout" in drawn and "redrive" in drawn and name.endswith(".fifo"):
            attributes["FifoQueue"] = "true"
        return attributes

    def tag(self, full: str, key: str, value: str) -> None:
        """Calls TagQueue, or UntagQueue for an empty value, and ListQueueTags."""
        codes = self.model.missing(full)
        if value:
            self.on(full, codes, "tag_queue", Tags={key: value})
        else:
            self.on(full, codes, "untag_queue", TagKeys=[key])
        response = self.on(full, codes, "list_queue_tags")
        if response is not None:
            self.model.tag(full, key, value)
            assert response.get("Tags", {}) == self.model.queues[full].tags

    def list_queues(self) -> None:
        """Calls ListQueues, GetQueueUrl and ListDeadLetterSourceQueues."""
        urls = self.call(ACCEPTED, "list_queues", QueueNamePrefix=self.prefix) or {}
        assert last_parts(urls.get("QueueUrls", [])) == sorted(self.model.queues)
        for full in map(self.name, g.QUEUES):
            found = self.call(self.model.missing(full), "get_queue_url", QueueName=full)
            assert found is None or last_parts([found["QueueUrl"]]) == [full]
            sources = self.on(full, self.model.missing(full), "list_dead_letter_source_queues")
            if sources is not None:
                assert last_parts(sources.get("queueUrls", [])) == self.model.sources(self.arn(full))

    # --- messages ----------------------------------------------------------------------------------------------------
    def send_together(self, full: str, messages: list[dict[str, Any]]) -> None:
        """Calls SendMessageBatch."""
        batch = {str(n): message for n, message in enumerate(messages)}
        entries = [{"Id": name, **message} for name, message in batch.items()]
        response = self.on(full, self.model.check_batch(full, messages), "send_message_batch", Entries=entries)
        if response is None:
            return
        results = {result["Id"]: result for result in response.get("Successful", [])}
        failures = {failure["Id"]: failure for failure in response.get("Failed", [])}
        assert len(results) + len(failures) == len(entries)
        for name, message in batch.items():
            codes = self.model.check_send(full, message)
            assert (name in failures) == bool(codes)
            if codes:
                assert failures[name]["Code"] in codes
                assert failures[name]["SenderFault"] is True
            else:
                self.note_sent(full, message, results[name])

    def note_sent(self, full: str, entry: dict[str, Any], response: dict[str, Any]) -> None:
        """Applies an accepted message. The digests belong to the sent message, even for a duplicate."""
        assert response["MD5OfMessageBody"] == md5_of_body(entry["MessageBody"])
        for given, digest in (
            ("MessageAttributes", "MD5OfMessageAttributes"),
            ("MessageSystemAttributes", "MD5OfMessageSystemAttributes"),
        ):
            assert response.get(digest) == (md5_of_attributes(entry[given]) if given in entry else None)
        self.model.sent(full, entry, response)

    def take(self, full: str, most: int, seconds: int | None) -> list[str]:
        """Calls ReceiveMessage. Returns the handles."""
        more = {} if seconds is None else {"VisibilityTimeout": seconds}
        names = {"AttributeNames": ["All"], "MessageAttributeNames": ["All"], "WaitTimeSeconds": 0}
        codes = self.model.missing(full)
        response = self.on(full, codes, "receive_message", MaxNumberOfMessages=most, **names, **more)
        if response is None:
            return []
        deliveries = response.get("Messages", [])
        pairs = [(delivery["MessageId"], delivery["ReceiptHandle"]) for delivery in deliveries]
        arrivals = self.arrivals(self.model.queues[full])
        for message, delivery in zip(
            self.model.received(full, most, seconds, pairs, arrivals), deliveries, strict=True
        ):
            self.compare(message, delivery)
        return [handle for _, handle in pairs]

    def arrivals(self, queue: Queue) -> set[str]:
        """Returns the messages that have arrived in the dead-letter queue since the receive began."""
        target, maximum = self.model.dead_letter_queue(queue)
        if target is None or not queue.exhausted(self.model.now, maximum):
            return set()
        known = {message.message_id for message in target.messages}
        return {stored.message_id for stored in self.service.stored(target.arn)} - known

    def compare(self, message: Message, delivery: dict[str, Any]) -> None:
        """Compares everything that a receiver sees of a message."""
        seen = {key: value for key, value in delivery.items() if key != "ReceiptHandle"}
        attributes = dict(seen["Attributes"])
        assert attributes.pop("SenderId")
        self.compare_time(message, "SentTimestamp", attributes, message.sent_at)
        self.compare_time(message, "ApproximateFirstReceiveTimestamp", attributes, message.seen_first_at)
        if "MessageDeduplicationId" in message.system:  # A moved message has a new number.
            message.system.setdefault("SequenceNumber", attributes["SequenceNumber"])
        assert {**seen, "Attributes": attributes} == message.seen()

    def compare_time(self, message: Message, name: str, attributes: dict[str, str], expected: int | None) -> None:
        """Checks that a time in milliseconds is within the minute of the model's clock, and never changes."""
        assert expected is not None
        moment = self.service.moment(attributes.pop(name))
        assert 0 <= moment - self.base_ms - 1000 * expected < 1000 * MINUTE
        assert message.observed.setdefault(name, moment) == moment

    # --- handles -----------------------------------------------------------------------------------------------------
    def pick(self, full: str, number: int) -> str:
        """Returns one of the queue's handles. A smaller number selects a newer handle. Some numbers select a handle of
        any queue, or a forged handle.
        """
        queue = self.model.queues.get(full)
        number, kind = divmod(number, 8)
        handles = queue.handles if queue and kind else list(self.model.handles)
        return FORGED if kind == 3 or not handles else handles[-1 - (number + kind) % len(handles)]

    def one_a_message(self, handles: Iterable[str]) -> set[str]:
        """Returns the last of the given handles for each message, and all unknown handles."""
        known = self.model.handles
        last = {known[text].message: text for text in handles if text in known}
        return {text for text in handles if text not in known or text in last.values()}

    def acknowledge(self, full: str, handles: list[str]) -> None:
        entries = [{"Id": str(n), "ReceiptHandle": handle} for n, handle in enumerate(handles)]
        response = self.on(full, self.model.missing(full), "delete_message_batch", Entries=entries)
        if response is not None:
            self.compare_entries(response, [self.model.delete(full, handle) for handle in handles])

    def compare_entries(self, response: dict[str, Any], expected: list[Codes]) -> None:
        """Compares the results of a batch whose entries have numbers as ids."""
        good = sorted(int(result["Id"]) for result in response.get("Successful", []))
        assert good == [n for n, codes in enumerate(expected) if not codes]
        failed = {int(failure["Id"]): failure for failure in response.get("Failed", [])}
        assert sorted(failed) == [n for n, codes in enumerate(expected) if codes]
        for n, failure in failed.items():
            assert failure["Code"] in expected[n]
            assert failure["SenderFault"] is True

    def hide(self, full: str, seconds: dict[str, int]) -> None:
        """Calls ChangeMessageVisibilityBatch."""
        entries = [
            {"Id": str(n), "ReceiptHandle": handle, "VisibilityTimeout": value}
            for n, (handle, value) in enumerate(seconds.items())
        ]
        response = self.on(full, self.model.missing(full), "change_message_visibility_batch", Entries=entries)
        if response is not None:
            expected = [self.model.change(full, handle, value, batch=True) for handle, value in seconds.items()]
            self.compare_entries(response, expected)

    def note_moved(self, full: str, lines: list[list[Moved]], whole: bool) -> int:
        """Applies a move: the first messages of each line, or all messages if the task could move all. Returns their
        number.
        """
        left = {stored.message_id for stored in self.service.stored(self.arn(full))}
        gone = [[moved for moved in line if moved.message.message_id not in left] for line in lines]
        assert all(some == line[: len(some)] for some, line in zip(gone, lines, strict=True))
        assert gone == lines or not whole
        for target in sorted({moved.target for line in gone for moved in line}):
            known = {message.message_id for message in self.model.queues[target].messages}
            new = [stored for stored in self.service.stored(self.arn(target)) if stored.message_id not in known]
            for moved in (moved for line in gone for moved in line if moved.target == target):
                message_id = take_first(new, moved.message).message_id
                self.model.moved(full, target, moved.message, message_id)
            assert new == []
        return sum(map(len, gone))

    # --- time --------------------------------------------------------------------------------------------------------
    def pass_time(self, seconds: int) -> None:
        self.say(f"{seconds} seconds pass")
        self.service.advance(seconds)
        self.model.now += seconds
        self.retain()

    def retain(self) -> None:
        """Runs the worker, which expires messages past their retention period."""
        for queue in self.model.overdue():
            self.service.maintain(queue.arn)
        self.model.expire()

    def drain(self) -> None:
        """Drains the queues, dead-letter queues last, because some messages move to them during the drain."""
        self.pass_time(HALF_A_DAY)
        for full in filter(self.model.queues.__contains__, map(self.name, g.QUEUES)):
            while handles := self.take(full, 10, HALF_A_DAY):
                self.retain()
                self.acknowledge(full, handles)
                self.protocol = "query" if self.protocol == "json" else "json"
            self.retain()
        for full in self.model.queues:
            assert self.model.counts(full) == (0, 0, 0)
            self.check(full)


def brief(value: object) -> str:
    """Shortens a value for the report of a failure."""
    text = str(value)
    return text if len(text) <= 400 else f"{text[:400]}... {len(text)} characters"


def last_parts(urls: Iterable[str]) -> list[str]:
    return sorted(url.rpartition("/")[2] for url in urls)


def take_first(stored: list[Stored], message: Message) -> Stored:
    """Removes the first entry that can be the message: a group's next message, or any equal message of a standard
    queue.
    """
    ordered = "MessageDeduplicationId" in message.system
    group, alike = message.system.get("MessageGroupId"), (message.body, frozenset(message.attributes))
    found = next(o for o in stored if o.group == group and (ordered or (o.body, o.attributes) == alike))
    assert (found.body, found.attributes) == alike
    stored.remove(found)
    return found
