"""Sends the same requests in JSON and in Query, each in a separate account of one deployment, and compares the
responses and the resulting state.

Before the comparison, values that must differ (ids, handles, times, accounts) receive the same name on both sides, and
known differences between the protocols are removed. Comments name the sources of the known differences.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from botocore.exceptions import ClientError

from penstock.errors import ERRORS
from tests.support.conformance.database_clock import Clock
from tests.support.conformance.sdk_clients import Response
from tests.support.conformance.sqs import REGION, read_refusal
from tests.support.model.requests import NAMES, Act, Ref

# Times in which the comparison ignores differences of milliseconds.
TIMES = {
    "SentTimestamp",
    "ApproximateFirstReceiveTimestamp",
    "CreatedTimestamp",
    "LastModifiedTimestamp",
    "StartedTimestamp",
}
# Ids that the service generates. The comparison names the ids in the order of their first appearance.
IDS = {"MessageId": "message", "ReceiptHandle": "handle", "TaskHandle": "task", "SequenceNumber": "number"}
_ID = re.compile(r"[A-Za-z0-9_=-]{20,}")
CODE_OF_TYPE = {error.json_type: error.query_code for error in ERRORS.values()}


class Outcome(NamedTuple):
    """Contains a response without the values that must differ."""

    result: Any = None
    error: tuple[str, int, str, str] | None = None


@dataclass
class Side:
    """Represents one side of the comparison: one protocol and one account."""

    protocol: str
    account: str
    prefix: str
    client: Any
    response: Response
    handles: dict[str, list[str]] = field(default_factory=dict)  # by queue
    tasks: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)  # maps ids to names

    def ask(self, request: Act) -> Outcome:
        method, parameters = request
        filled = self.fill(parameters, parameters.get("QueueUrl"))
        try:
            response = dict(getattr(self.client, method)(**filled))
        except ClientError:
            return Outcome(error=self.refusal())
        del response["ResponseMetadata"]
        url = parameters.get("QueueUrl", Ref("url"))
        if "Messages" in response and not url.queue.endswith(".fifo"):
            # A standard queue may return messages in any order.
            response["Messages"].sort(key=self.name)
        self.remember(response, url.queue)
        return Outcome(self.canonical(response))

    def name(self, message: dict[str, Any]) -> tuple[str, str]:
        """Returns a message's name. A moved message has no name yet."""
        return self.known.get(message["MessageId"], ""), message["Body"]

    # --- requests ----------------------------------------------------------------------------------------------------
    def arn(self, queue: str) -> str:
        return f"arn:aws:sqs:{REGION}:{self.account}:{self.prefix}{queue}"

    def fill(self, value: Any, url: Any) -> Any:
        """Returns the request after replacing its refs by this side's values. `url` is the request's queue."""
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

    # --- responses ----------------------------------------------------------------------------------------------------
    def remember(self, response: dict[str, Any], queue: str) -> None:
        """Stores values for later requests."""
        for message in response.get("Messages", []):
            self.handles.setdefault(queue, []).append(message["ReceiptHandle"])
        self.tasks += [response["TaskHandle"]] if "TaskHandle" in response else []
        self.tokens += [response["NextToken"]] if "NextToken" in response else []

    def canonical(self, value: Any, name: str = "") -> Any:
        """Returns the value in a form that both sides share. Query's XML cannot distinguish an empty list or map from a
        missing list or map.
        """
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
        """Replaces the account and the ids with names."""
        for known in _ID.findall(text):
            text = text.replace(known, self.known.get(known, known))
        return text.replace(self.account, "ACCOUNT")

    def refusal(self) -> tuple[str, int, str, str]:
        """Returns the last response's code, status, fault and text. In JSON the type must match the code. Query's text
        for a missing queue ends differently.
        """
        assert self.response.headers is not None
        found = read_refusal(self.protocol, self.response.status, self.response.headers, self.response.body)
        assert found.type is None or CODE_OF_TYPE[found.type] == found.code
        text = found.message
        if found.code.endswith("NonExistentQueue"):
            text = text.replace(" for this wsdl version.", ".")
        return found.code, found.status, found.fault, self.anonymous(text)


@dataclass
class Pair:
    """Contains both sides and their common clock."""

    json: Side
    query: Side
    clock: Clock
    requests: int = 0

    def play(self, request: Act) -> None:
        """Performs one step, and compares the two sides of the step's queue."""
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
        for name in NAMES:
            attributes = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
            attributes["VisibilityTimeout"] = "60"
            self.compare(("create_queue", {"QueueName": Ref("name", name), "Attributes": attributes}))

    def close(self) -> None:
        """Compares all remaining state, and deletes the queues."""
        for name in NAMES:
            url = Ref("url", name)
            more = {"MaxNumberOfMessages": 10, "AttributeNames": ["All"], "VisibilityTimeout": 43_200}
            receive = {"QueueUrl": url, **more}
            while self.compare(("receive_message", receive)).result:
                pass
            self.compare(("delete_queue", {"QueueUrl": url}))
        self.clock.connection.execute("select queue.maintain_installation(1000000, 1)")


def is_writable(client: Any, request: Act) -> bool:
    """Returns whether both protocols can express the request. Unlike JSON, Query cannot express an empty list or
    map.
    """
    method, parameters = request
    operation = client.meta.service_model.operation_model(client.meta.method_to_api_mapping[method])
    shape = operation.input_shape
    needed = [name for name in shape.required_members if shape.members[name].type_name in ("list", "map")]
    return all(parameters.get(name) for name in needed)
