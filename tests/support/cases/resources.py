"""Creates the resources that cases name, such as <topic>, when a case first names them.

All resources belong to one account. Each case receives a separate <new-…>, because the case changes or deletes the
resource. <name> is an unused name.
"""

import json
import re
from collections.abc import Callable
from itertools import count
from typing import Any

from tests.support.cases.case import Members
from tests.support.cases.endpoints import ACCOUNT, Endpoint
from tests.support.conformance.sdk_clients import REGION

_NAMED = re.compile(r"<([a-z0-9-]+)>")
ROLE = f"arn:aws:iam::{ACCOUNT}:role/scheduler"


class Resources:
    def __init__(self, endpoint: Endpoint, rest: Endpoint) -> None:
        self._endpoint, self._rest = endpoint, rest
        self._made: dict[str, str] = {}
        self._numbers = count(1)

    def filled_in(self, members: Members) -> Members:
        """Replaces each <…> with the resource's name. Every <name> in one request becomes the same name."""
        names: dict[str, str] = {}

        def fill_in(found: re.Match[str]) -> str:
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

        return json.loads(_replaced(members, fill_in))  # type: ignore[no-any-return]

    def _new_name(self) -> str:
        return f"case-{next(self._numbers)}"

    def named(self, name: str) -> str:
        return str(self.filled_in({"it": f"<{name}>"})["it"])

    # --- makers ------------------------------------------------------------------------------------------------------
    def sqs(self, action: str, **members: Any) -> dict[str, Any]:
        return self._call(self._endpoint, "sqs", action, members)

    def sns(self, action: str, **members: Any) -> dict[str, Any]:
        return self._call(self._endpoint, "sns", action, members)

    def scheduler(self, action: str, **members: Any) -> dict[str, Any]:
        return self._call(self._rest, "scheduler", action, members)

    @staticmethod
    def _call(endpoint: Endpoint, service: str, action: str, members: Members) -> dict[str, Any]:
        response = endpoint.call(service, action, members)
        assert response.status == 200, (action, members, response)
        return dict(json.loads(response.body)) if response.body else {}

    def queue(self, suffix: str = "", **attributes: str) -> str:
        made = self.sqs("CreateQueue", QueueName=self._new_name() + suffix, Attributes=attributes)
        return str(made["QueueUrl"])

    def queue_arn(self, url: str) -> str:
        return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{url.rpartition('/')[2]}"

    def topic(self, suffix: str = "", **attributes: str) -> str:
        return str(self.sns("CreateTopic", Name=self._new_name() + suffix, Attributes=attributes)["TopicArn"])

    def subscription(self, topic: str, protocol: str = "sqs", endpoint: str = "") -> str:
        response = self.sns(
            "Subscribe",
            TopicArn=topic,
            Protocol=protocol,
            Endpoint=endpoint or self.queue_arn(self.queue()),
            ReturnSubscriptionArn=True,
        )
        return str(response["SubscriptionArn"])

    def application(self) -> str:
        attributes = {"PlatformCredential": "key"}
        made = self.sns("CreatePlatformApplication", Name=self._new_name(), Platform="GCM", Attributes=attributes)
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
        """Returns the ARN of a queue that is subscribed to <topic>, without attributes."""
        arn = self.queue_arn(self.queue())
        self.subscription(self.named("topic"), endpoint=arn)
        return arn

    def label(self) -> str:
        """Returns the label of a new permission on <topic> and <queue>."""
        name = self._new_name()
        accounts = ["111122223333"]
        topic, queue = self.named("topic"), self.named("queue")
        self.sns("AddPermission", TopicArn=topic, Label=name, AWSAccountId=accounts, ActionName=["Publish"])
        self.sqs("AddPermission", QueueUrl=queue, Label=name, AWSAccountIds=accounts, Actions=["SendMessage"])
        return name

    def after(self, action: str, **members: str) -> str:
        """Applies an action, such as a deletion, to a resource and returns the resource."""
        (resource,) = members.values()
        {"QueueUrl": self.sqs, "Name": self.scheduler}.get(next(iter(members)), self.sns)(action, **members)
        return resource

    def received(self, queue: str) -> str:
        """Receives a message and returns its receipt handle."""
        self.sqs("SendMessage", QueueUrl=queue, MessageBody="m")
        response = self.sqs("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=1)
        return str(response["Messages"][0]["ReceiptHandle"])

    def dead_letter_queue(self) -> str:
        """Returns the ARN of a queue that is another queue's dead-letter queue."""
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


def _replaced(members: Members, fill_in: Callable[[re.Match[str]], str]) -> str:
    return _NAMED.sub(lambda found: json.dumps(fill_in(found))[1:-1], json.dumps(members, ensure_ascii=False))


MAKERS: dict[str, Callable[[Resources], str]] = {
    "queue": lambda resources: resources.queue(),
    "fifo-queue": lambda resources: resources.queue(".fifo", FifoQueue="true"),
    "content-queue": lambda resources: resources.queue(".fifo", FifoQueue="true", ContentBasedDeduplication="true"),
    "queue-arn": lambda resources: resources.queue_arn(resources.named("queue")),
    "fifo-queue-arn": lambda resources: resources.queue_arn(resources.named("fifo-queue")),
    "new-queue": lambda resources: resources.queue(),
    "new-queue-arn": lambda resources: resources.queue_arn(resources.queue()),
    "new-queue-name": lambda resources: resources.queue().rpartition("/")[2],
    "queue-name": lambda resources: resources.named("queue").rpartition("/")[2],
    "handle": lambda resources: resources.received(resources.named("queue")),
    "new-handle": lambda resources: resources.received(resources.named("queue")),
    "dead-letters": Resources.dead_letter_queue,
    "new-dead-letters": Resources.dead_letter_queue,
    "topic": lambda resources: resources.topic(),
    "topic-name": lambda resources: resources.named("topic").rpartition(":")[2],
    "new-topic": lambda resources: resources.topic(),
    "fifo-topic": lambda resources: resources.topic(".fifo", FifoTopic="true"),
    "new-fifo-topic": lambda resources: resources.topic(".fifo", FifoTopic="true"),
    "content-topic": lambda resources: resources.topic(".fifo", FifoTopic="true", ContentBasedDeduplication="true"),
    "subscription": lambda resources: resources.subscription(resources.named("topic")),
    "new-subscription": lambda resources: resources.subscription(resources.topic()),
    "subscription-of-queue-arn": lambda resources: resources.subscription(
        resources.named("new-fifo-topic"), endpoint=resources.named("queue-arn")
    ),
    "subscription-of-fifo-queue-arn": lambda resources: resources.subscription(
        resources.named("new-fifo-topic"), endpoint=resources.named("fifo-queue-arn")
    ),
    "https-subscription": lambda resources: resources.subscription(
        resources.named("topic"), "https", "https://example.invalid/a"
    ),
    "email-subscription": lambda resources: resources.subscription(resources.named("topic"), "email", "a@example.com"),
    "purged-queue": lambda resources: resources.after("PurgeQueue", QueueUrl=resources.queue()),
    "deleted-queue": lambda resources: resources.after("DeleteQueue", QueueUrl=resources.queue()),
    "deleted-queue-name": lambda resources: resources.named("deleted-queue").rpartition("/")[2],
    "deleted-topic": lambda resources: resources.after("DeleteTopic", TopicArn=resources.topic()),
    "deleted-subscription": lambda resources: resources.after(
        "Unsubscribe", SubscriptionArn=resources.subscription(resources.topic())
    ),
    "deleted-application": lambda resources: resources.after(
        "DeletePlatformApplication", PlatformApplicationArn=resources.application()
    ),
    "deleted-endpoint": lambda resources: resources.after(
        "DeleteEndpoint", EndpointArn=resources.endpoint(resources.named("application"))
    ),
    "deleted-schedule": lambda resources: resources.after("DeleteSchedule", Name=resources.schedule()),
    "new-deleted-schedule": lambda resources: resources.after("DeleteSchedule", Name=resources.schedule()),
    "deleted-group": lambda resources: resources.after("DeleteScheduleGroup", Name=resources.group()),
    "subscribed-queue-arn": Resources.subscribed_queue,
    "label": Resources.label,
    "new-label": Resources.label,
    "disabled-endpoint": lambda resources: resources.endpoint(resources.named("application"), enabled="false"),
    "endpoint-of-a-disabled-application": Resources.endpoint_of_a_disabled_application,
    "tokened-endpoint": lambda resources: resources.endpoint(resources.named("application"), token="a-token"),
    "application": lambda resources: resources.application(),
    "new-application": lambda resources: resources.application(),
    "endpoint": lambda resources: resources.endpoint(resources.named("application")),
    "new-endpoint": lambda resources: resources.endpoint(resources.named("application")),
    "schedule": Resources.schedule,
    "new-schedule": Resources.schedule,
    "group": Resources.group,
    "new-group": Resources.group,
    "group-arn": lambda resources: f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule-group/{resources.named('group')}",
}
