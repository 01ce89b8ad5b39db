"""The same requests in JSON and in Query, each in its own account in one deployment: the same effect, the same
answer.

Values that must differ (ids, handles, times, accounts) get a name that is the same on both sides before answers are
compared. What the protocols themselves do differently is undone, with its source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from botocore.exceptions import ClientError

from penstock.errors import ERRORS
from tests.support.conformance.database_clock import Clock
from tests.support.conformance.sdk_clients import Answer
from tests.support.conformance.sqs import REGION, read_refusal
from tests.support.model.requests import NAMES, Act, Ref

# Times; a difference of milliseconds is ignored.
TIMES = {
    "SentTimestamp",
    "ApproximateFirstReceiveTimestamp",
    "CreatedTimestamp",
    "LastModifiedTimestamp",
    "StartedTimestamp",
}
# Ids that the service makes up: they are called by the order in which they first appeared.
IDS = {"MessageId": "message", "ReceiptHandle": "handle", "TaskHandle": "task", "SequenceNumber": "number"}
_ID = re.compile(r"[A-Za-z0-9_=-]{20,}")
CODE_OF_TYPE = {error.json_type: error.query_code for error in ERRORS.values()}


class Outcome(NamedTuple):
    """An answer without what must differ."""

    result: Any = None
    error: tuple[str, int, str, str] | None = None


@dataclass
class Side:
    """One protocol, one account."""

    protocol: str
    account: str
    prefix: str
    client: Any
    answer: Answer
    handles: dict[str, list[str]] = field(default_factory=dict)  # by queue
    tasks: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)  # ids and what they are called

    def ask(self, request: Act) -> Outcome:
        """One request and its outcome."""
        method, parameters = request
        filled = self.fill(parameters, parameters.get("QueueUrl"))
        try:
            answer = dict(getattr(self.client, method)(**filled))
        except ClientError:
            return Outcome(error=self.refusal())
        del answer["ResponseMetadata"]
        url = parameters.get("QueueUrl", Ref("url"))
        if "Messages" in answer and not url.queue.endswith(".fifo"):
            answer["Messages"].sort(key=self.name)  # the order of a standard queue is free
        self.remember(answer, url.queue)
        return Outcome(self.canonical(answer))

    def name(self, message: dict[str, Any]) -> tuple[str, str]:
        """What a message is called; one that was moved has no name yet."""
        return self.known.get(message["MessageId"], ""), message["Body"]

    # --- requests ----------------------------------------------------------------------------------------------------
    def arn(self, queue: str) -> str:
        return f"arn:aws:sqs:{REGION}:{self.account}:{self.prefix}{queue}"

    def fill(self, value: Any, url: Any) -> Any:
        """The request with what its refs stand for on this side; `url`: its queue."""
        if isinstance(value, Ref):
            owned = value.kind == "handle" and value.queue == "" and isinstance(url, Ref)
            return self.look_up(value._replace(queue=url.queue) if owned else value)
        if isinstance(value, Mapping):
            return {key: self.fill(member, url) for key, member in value.items()}
        return [self.fill(member, url) for member in value] if isinstance(value, list) else value

    def look_up(self, ref: Ref) -> str:
        if ref.kind == "redrive":
            return json.dumps({"deadLetterTargetArn": self.arn(ref.queue), "maxReceiveCount": ref.number})
        if ref.kind in ("handle", "task", "token"):
            handles = self.handles.get(ref.queue, [])
            had = {"handle": handles, "task": self.tasks, "token": self.tokens}[ref.kind]
            return had[-1 - ref.number % len(had)] if had else "none"
        name = self.prefix + ref.queue
        url = f"http://sqs/{self.account}/{name}"
        return {"url": url, "arn": self.arn(ref.queue), "name": name}[ref.kind]

    # --- answers -----------------------------------------------------------------------------------------------------
    def remember(self, answer: dict[str, Any], queue: str) -> None:
        """What later requests may need."""
        for message in answer.get("Messages", []):
            self.handles.setdefault(queue, []).append(message["ReceiptHandle"])
        self.tasks += [answer["TaskHandle"]] if "TaskHandle" in answer else []
        self.tokens += [answer["NextToken"]] if "NextToken" in answer else []

    def canonical(self, value: Any, name: str = "") -> Any:
        """The value as both sides should have it. Query's XML cannot tell an empty list or map from an absent one."""
        if isinstance(value, dict):
            members = {key: self.canonical(member, key) for key, member in value.items()}
            return {key: member for key, member in members.items() if member not in ({}, [])}
        if isinstance(value, list):
            return [self.canonical(member, name) for member in value]
        if name in TIMES:
            return "a time"
        if name in IDS:
            return self.known.setdefault(value, f"{IDS[name]} {len(self.known)}")
        return self.anonymous(value) if isinstance(value, str) else value

    def anonymous(self, text: str) -> str:
        """Without the account, and with what the ids in it are called."""
        for known in _ID.findall(text):
            text = text.replace(known, self.known.get(known, known))
        return text.replace(self.account, "ACCOUNT")

    def refusal(self) -> tuple[str, int, str, str]:
        """Code, status, fault and text of the last answer. In JSON the type must be that of the code; in Query the text
        for a missing queue has its own end."""
        assert self.answer.headers is not None
        found = read_refusal(self.protocol, self.answer.status, self.answer.headers, self.answer.body)
        assert found.type is None or CODE_OF_TYPE[found.type] == found.code
        text = found.message
        if found.code.endswith("NonExistentQueue"):
            text = text.replace(" for this wsdl version.", ".")
        return found.code, found.status, found.fault, self.anonymous(text)


@dataclass
class Pair:
    """Both sides, and the clock that they share."""

    json: Side
    query: Side
    clock: Clock
    requests: int = 0

    def play(self, request: Act) -> None:
        """One act; then the queue is the same on both sides."""
        method, parameters = request
        if method == "pass_time":
            self.clock.advance(parameters["seconds"])
        elif method == "move":
            for side in (self.json, self.query):
                self.clock.move(side.arn(parameters["queue"]))
        elif is_writable(self.query.client, request):
            self.compare(request)
            url = parameters.get("QueueUrl")
            if isinstance(url, Ref):
                self.compare(("get_queue_attributes", {"QueueUrl": url, "AttributeNames": ["All"]}))

    def compare(self, request: Act) -> Outcome:
        self.requests += 1
        outcomes = [side.ask(request) for side in (self.json, self.query)]
        assert outcomes[0] == outcomes[1], (request, outcomes)
        return outcomes[0]

    def open(self) -> None:
        """Queues to begin with."""
        for name in NAMES:
            attributes = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
            attributes["VisibilityTimeout"] = "60"
            self.compare(("create_queue", {"QueueName": Ref("name", name), "Attributes": attributes}))

    def close(self) -> None:
        """Everything that is left is the same; then the queues go."""
        for name in NAMES:
            url = Ref("url", name)
            more = {"MaxNumberOfMessages": 10, "AttributeNames": ["All"], "VisibilityTimeout": 43_200}
            receive = {"QueueUrl": url, **more}
            while self.compare(("receive_message", receive)).result:
                pass
            self.compare(("delete_queue", {"QueueUrl": url}))
        self.clock.connection.execute("select queue.maintain_installation(1000000, 1)")


def is_writable(client: Any, request: Act) -> bool:
    """Whether both protocols can say it: a list or map that is empty cannot be written in Query, and JSON tells it from
    one that is absent."""
    method, parameters = request
    operation = client.meta.service_model.operation_model(client.meta.method_to_api_mapping[method])
    shape = operation.input_shape
    needed = [name for name in shape.required_members if shape.members[name].type_name in ("list", "map")]
    return all(parameters.get(name) for name in needed)
