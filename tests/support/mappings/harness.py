"""Runs a service, its clients and the functions that its mappings invoke."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import httpx

from tests.support.database import TestServer
from tests.support.mappings.functions import Function, Functions, running_functions
from tests.support.programs.penstock_service import Service, running_service
from tests.support.wait import wait_until

_numbers = count(1)


class Harness:
    """The service, its clients, and the functions that it may invoke."""

    def __init__(self, service: Service, functions: Functions, dsn: str) -> None:
        self.service = service
        self.functions = functions
        self.dsn = dsn
        self.sqs = service.sqs()
        self.client = service.client("lambda")
        self._of_nothing = ""

    def queue(self, **attributes: str) -> tuple[str, str]:
        """Creates a queue. Returns the queue's URL and ARN."""
        suffix = ".fifo" if "FifoQueue" in attributes else ""
        name = f"q{next(_numbers)}{suffix}"
        url = self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        return url, self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"][
            "QueueArn"
        ]

    def function(self, code: Function) -> str:
        """Creates a function. Returns its name."""
        name = f"f{next(_numbers)}"
        self.functions.functions[name] = code
        return name

    def map(self, arn: str, function: str, **options: Any) -> str:
        """Creates a mapping. Returns its UUID."""
        made = self.client.create_event_source_mapping(EventSourceArn=arn, FunctionName=function, **options)
        uuid: str = made["UUID"]
        return uuid

    def map_of_nothing(self) -> str:
        """Returns the same disabled mapping each time."""
        if not self._of_nothing:
            self._of_nothing = self.map(self.queue()[1], self.function(lambda _: None), Enabled=False)
        return self._of_nothing

    def last_result(self, uuid: str) -> str:
        """Returns the result of the mapping's last batch. Only the REST API shows this result."""
        return str(httpx.get(f"{self.service.url}/v1/mappings/{uuid}").json()["last_result"])

    def get(self, uuid: str) -> dict[str, Any]:
        """The mapping."""
        found: dict[str, Any] = self.client.get_event_source_mapping(UUID=uuid)
        return found

    def invocations(self, function: str) -> list[Any]:
        """Returns the invocations of a function."""
        return [invocation for invocation in self.functions.invocations if invocation.name == function]

    def seen(self, function: str) -> list[str]:
        """Returns the bodies that a function got."""
        return [body for invocation in self.invocations(function) for body in invocation.bodies]

    def show_again(self, record: dict[str, Any]) -> None:
        """Makes a function's message visible at once, as the visibility timeout would do later."""
        name = record["eventSourceARN"].split(":")[5]
        self.sqs.change_message_visibility(
            QueueUrl=name, ReceiptHandle=record["receiptHandle"], VisibilityTimeout=0
        )

    def until_empty(self, url: str) -> None:
        """Waits until the queue has no message, visible or not."""
        wait_until(lambda: self.depth(url) == 0)

    def depth(self, url: str) -> int:
        """Returns the number of messages of the queue, visible or not."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        return sum(int(value) for value in found.values())


@contextmanager
def running_harness(postgres: TestServer, **settings: str) -> Iterator[Harness]:
    """Runs a service with these settings on a new database, and a server of functions beside it."""
    with (
        postgres.database() as database,
        running_functions() as functions,
        running_service(database.api_dsn, QUEUE_LAMBDA_ENDPOINT=functions.url, **settings) as service,
    ):
        yield Harness(service, functions, database.api_dsn)
