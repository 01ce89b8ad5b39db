"""The resources that cases name, such as <topic>: made when a case first names them, for one account.

<new-…> is made anew for each case, since the case changes or deletes it; <name> is a name that nobody has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import count
from typing import Any

from tests.support.cases.case import Members
from tests.support.cases.doors import ACCOUNT, Door
from tests.support.conformance.sdk_clients import REGION

_NAMED = re.compile(r"<([a-z0-9-]+)>")
ROLE = f"arn:aws:iam::{ACCOUNT}:role/scheduler"


class World:
    """Makes resources by SQS and SNS in JSON, and by Scheduler's REST."""

    def __init__(self, door: Door, rest: Door) -> None:
        self._door, self._rest = door, rest
        self._made: dict[str, str] = {}
        self._numbers = count(1)

    def filled_in(self, members: Members) -> Members:
        """The members with the names of resources in the places of <…>; <name> is the same throughout."""
        names: dict[str, str] = {}

        def one(found: re.Match[str]) -> str:
            name = found[1]
            if name not in MAKERS and name != "name":
                return found[0]
            if name == "name" or name.startswith("new-"):
                if name not in names:
                    names[name] = self._new_name() if name == "name" else MAKERS[name](self)
                return names[name]
            if name not in self._made:
                self._made[name] = MAKERS[name](self)
            return self._made[name]

        return json.loads(_replaced(members, one))  # type: ignore[no-any-return]

    def _new_name(self) -> str:
        return f"case-{next(self._numbers)}"

    def named(self, name: str) -> str:
        """The resource of this name, as a text."""
        return str(self.filled_in({"it": f"<{name}>"})["it"])

    # --- makers ------------------------------------------------------------------------------------------------------
    def sqs(self, action: str, **members: Any) -> dict[str, Any]:
        return self._call(self._door, "sqs", action, members)

    def sns(self, action: str, **members: Any) -> dict[str, Any]:
        return self._call(self._door, "sns", action, members)

    def scheduler(self, action: str, **members: Any) -> dict[str, Any]:
        return self._call(self._rest, "scheduler", action, members)

    @staticmethod
    def _call(door: Door, service: str, action: str, members: Members) -> dict[str, Any]:
        answer = door.call(service, action, members)
        assert answer.status == 200, (action, members, answer)
        return dict(json.loads(answer.body)) if answer.body else {}

    def queue(self, suffix: str = "", **attributes: str) -> str:
        made = self.sqs("CreateQueue", QueueName=self._new_name() + suffix, Attributes=attributes)
        return str(made["QueueUrl"])

    def queue_arn(self, url: str) -> str:
        return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{url.rpartition('/')[2]}"

    def topic(self, suffix: str = "", **attributes: str) -> str:
        return str(self.sns("CreateTopic", Name=self._new_name() + suffix, Attributes=attributes)["TopicArn"])

    def subscription(self, topic: str, protocol: str = "sqs", endpoint: str = "") -> str:
        answer = self.sns(
            "Subscribe",
            TopicArn=topic,
            Protocol=protocol,
            Endpoint=endpoint or self.queue_arn(self.queue()),
            ReturnSubscriptionArn=True,
        )
        return str(answer["SubscriptionArn"])

    def application(self) -> str:
        attributes = {"PlatformCredential": "key"}
        made = self.sns(
            "CreatePlatformApplication", Name=self._new_name(), Platform="GCM", Attributes=attributes
        )
        return str(made["PlatformApplicationArn"])

    def endpoint(self, application: str, token: str = "", enabled: str = "true") -> str:
        made = self.sns(
            "CreatePlatformEndpoint",
            PlatformApplicationArn=application,
            Token=token or self._new_name(),
            Attributes={"Enabled": enabled},
        )
        return str(made["EndpointArn"])

    def endpoint_of_a_disabled_application(self) -> str:
        application = self.application()
        arn = self.endpoint(application)
        off = {"Enabled": "false"}
        self.sns("SetPlatformApplicationAttributes", PlatformApplicationArn=application, Attributes=off)
        return arn

    def subscribed_queue(self) -> str:
        """The ARN of a queue that is subscribed to <topic>, without attributes."""
        arn = self.queue_arn(self.queue())
        self.subscription(self.named("topic"), endpoint=arn)
        return arn

    def label(self) -> str:
        """The label of a permission that <topic> and <queue> have."""
        name = self._new_name()
        accounts = ["111122223333"]
        topic, queue = self.named("topic"), self.named("queue")
        self.sns("AddPermission", TopicArn=topic, Label=name, AWSAccountId=accounts, ActionName=["Publish"])
        self.sqs("AddPermission", QueueUrl=queue, Label=name, AWSAccountIds=accounts, Actions=["SendMessage"])
        return name

    def after(self, action: str, **members: str) -> str:
        """A resource after an action on it, such as one that is deleted."""
        (resource,) = members.values()
        {"QueueUrl": self.sqs, "Name": self.scheduler}.get(next(iter(members)), self.sns)(action, **members)
        return resource

    def received(self, queue: str) -> str:
        """A receipt handle of a message in flight in a queue."""
        self.sqs("SendMessage", QueueUrl=queue, MessageBody="m")
        answer = self.sqs("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=1)
        return str(answer["Messages"][0]["ReceiptHandle"])

    def dead_letter_queue(self) -> str:
        """The ARN of a queue that another one has as its dead-letter queue."""
        arn = self.queue_arn(self.queue())
        self.queue(RedrivePolicy=json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 3}))
        return arn

    def schedule(self) -> str:
        name = self._new_name()
        self.scheduler(
            "CreateSchedule",
            Name=name,
            ScheduleExpression="rate(365 days)",
            FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:jobs", "RoleArn": ROLE},
        )
        return name

    def group(self) -> str:
        name = self._new_name()
        self.scheduler("CreateScheduleGroup", Name=name)
        return name


def _replaced(members: Members, one: Callable[[re.Match[str]], str]) -> str:
    return _NAMED.sub(lambda found: json.dumps(one(found))[1:-1], json.dumps(members, ensure_ascii=False))


SHORT_TEXT = {"DisplayName": "short"}
MAKERS: dict[str, Callable[[World], str]] = {
    "queue": lambda world: world.queue(),
    "fifo-queue": lambda world: world.queue(".fifo", FifoQueue="true"),
    "content-queue": lambda world: world.queue(".fifo", FifoQueue="true", ContentBasedDeduplication="true"),
    "queue-arn": lambda world: world.queue_arn(world.named("queue")),
    "fifo-queue-arn": lambda world: world.queue_arn(world.named("fifo-queue")),
    "new-queue": lambda world: world.queue(),
    "new-queue-arn": lambda world: world.queue_arn(world.queue()),
    "new-queue-name": lambda world: world.queue().rpartition("/")[2],
    "queue-name": lambda world: world.named("queue").rpartition("/")[2],
    "handle": lambda world: world.received(world.named("queue")),
    "new-handle": lambda world: world.received(world.named("queue")),
    "dead-letters": World.dead_letter_queue,
    "new-dead-letters": World.dead_letter_queue,
    "topic": lambda world: world.topic(),
    "topic-name": lambda world: world.named("topic").rpartition(":")[2],
    "new-topic": lambda world: world.topic(),
    "fifo-topic": lambda world: world.topic(".fifo", FifoTopic="true"),
    "content-topic": lambda world: world.topic(".fifo", FifoTopic="true", ContentBasedDeduplication="true"),
    "subscription": lambda world: world.subscription(world.named("topic")),
    "new-subscription": lambda world: world.subscription(world.topic()),
    "https-subscription": lambda world: world.subscription(
        world.named("topic"), "https", "https://example.invalid/a"
    ),
    "email-subscription": lambda world: world.subscription(world.named("topic"), "email", "a@example.com"),
    "purged-queue": lambda world: world.after("PurgeQueue", QueueUrl=world.queue()),
    "deleted-queue": lambda world: world.after("DeleteQueue", QueueUrl=world.queue()),
    "deleted-queue-name": lambda world: world.named("deleted-queue").rpartition("/")[2],
    "deleted-topic": lambda world: world.after("DeleteTopic", TopicArn=world.topic()),
    "deleted-subscription": lambda world: world.after(
        "Unsubscribe", SubscriptionArn=world.subscription(world.topic())
    ),
    "deleted-application": lambda world: world.after(
        "DeletePlatformApplication", PlatformApplicationArn=world.application()
    ),
    "deleted-endpoint": lambda world: world.after(
        "DeleteEndpoint", EndpointArn=world.endpoint(world.named("application"))
    ),
    "deleted-schedule": lambda world: world.after("DeleteSchedule", Name=world.schedule()),
    "new-deleted-schedule": lambda world: world.after("DeleteSchedule", Name=world.schedule()),
    "deleted-group": lambda world: world.after("DeleteScheduleGroup", Name=world.group()),
    "subscribed-queue-arn": World.subscribed_queue,
    "label": World.label,
    "new-label": World.label,
    "disabled-endpoint": lambda world: world.endpoint(world.named("application"), enabled="false"),
    "endpoint-of-a-disabled-application": World.endpoint_of_a_disabled_application,
    "tokened-endpoint": lambda world: world.endpoint(world.named("application"), token="a-token"),
    "application": lambda world: world.application(),
    "new-application": lambda world: world.application(),
    "endpoint": lambda world: world.endpoint(world.named("application")),
    "new-endpoint": lambda world: world.endpoint(world.named("application")),
    "schedule": World.schedule,
    "new-schedule": World.schedule,
    "group": World.group,
    "new-group": World.group,
    "group-arn": lambda world: f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule-group/{world.named('group')}",
}
