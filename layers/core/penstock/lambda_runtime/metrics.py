"""Writes metrics of functions as log lines in CloudWatch's Embedded Metric Format, without API calls.

The namespace is POWERTOOLS_METRICS_NAMESPACE, or Penstock by default. The first metric imports powertools. Successful
requests write no metrics, because Lambda itself counts invocations, durations and errors. Sources: CloudWatch User
Guide, "Specification: Embedded metric format"; Amazon SQS Developer Guide, "Available CloudWatch metrics for Amazon
SQS", for names and dimension.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from time import time
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct, field

from penstock.errors import AwsError
from penstock.observing.reports import Deleted, Received, Report, Sent

if TYPE_CHECKING:
    from penstock.postgres.statements.installation import QueueCountsRow

NAMESPACE: Final = "Penstock"
THROTTLES: Final = frozenset({"OverLimit", "RequestThrottled", "Throttled", "ThrottlingException"})


class Value(NamedTuple):
    """One metric. `unit` is Count or Seconds."""

    name: str
    unit: str
    number: float


def build_emf_line(dimensions: Mapping[str, str], values: Mapping[str, tuple[str, Sequence[int]]]) -> str:
    """Returns a line of the Embedded Metric Format. powertools could also write the line, but importing powertools
    takes 20 ms.

    `values` contains a unit and at most 100 numbers by metric name. `dimensions` are the dimensions of a queue.
    """
    directive = {
        "Namespace": read_namespace(),
        "Dimensions": [list(dimensions)],
        "Metrics": [{"Name": name, "Unit": unit} for name, (unit, _) in values.items()],
    }
    head = {"Timestamp": int(time() * 1000), "CloudWatchMetrics": [directive]}
    numbers = {name: list(found) for name, (_, found) in values.items()}
    return json.dumps({"_aws": head, **dimensions, **numbers})


def read_namespace() -> str:
    return os.environ.get("POWERTOOLS_METRICS_NAMESPACE", NAMESPACE)


class Metrics:
    """Writes metrics of one installation, whose queues belong to `account_id` and `region`."""

    def __init__(self, account_id: str, region: str) -> None:
        self._own = (account_id, region)

    def put(self, dimensions: Mapping[str, str], values: Iterable[Value]) -> None:
        """Writes a line with at most 100 metrics that have the same dimensions."""
        from aws_lambda_powertools.metrics import EphemeralMetrics  # noqa: PLC0415 - 20 ms

        line = EphemeralMetrics(namespace=read_namespace())
        for name, text in dimensions.items():
            line.add_dimension(name, text)
        for value in values:
            line.add_metric(value.name, value.unit, value.number)
        line.flush_metrics()

    def count(self, dimensions: Mapping[str, str], counts: Mapping[str, int]) -> None:
        """Writes counts that are not 0. `busy_queues` becomes the metric BusyQueues."""
        values = [Value(name.title().replace("_", ""), "Count", number) for name, number in counts.items() if number]
        if values:
            self.put(dimensions, values)

    def count_usage(self, queues: "Mapping[str, QueueUsage]") -> None:
        """Writes one line per queue. The line contains those counts of a request that are not 0."""
        for arn, usage in queues.items():
            region, account_id, name = arn.split(":")[3:6]
            values: dict[str, tuple[str, list[int]]] = {
                "NumberOfMessagesSent": ("Count", [len(usage.sizes)]),
                "SentMessageSize": ("Bytes", usage.sizes),
                "NumberOfMessagesReceived": ("Count", [usage.received]),
                "NumberOfEmptyReceives": ("Count", [int(usage.empty)]),
                "NumberOfMessagesDeleted": ("Count", [usage.deleted]),
            }
            known = {name: value for name, value in values.items() if any(value[1])}
            if known:
                print(build_emf_line(self._dimensions(account_id, region, name), known), flush=True)  # noqa: T201 - Lambda's log

    def _dimensions(self, account_id: str, region: str, queue: str) -> dict[str, str]:
        """Returns a queue's dimensions. The dimensions include account and region if the queue's account or region is
        not the installation's."""
        dimensions = {"QueueName": queue}
        if (account_id, region) != self._own:
            dimensions |= {"AccountId": account_id, "Region": region}
        return dimensions

    def count_error(self, service: str, action: str, error: AwsError) -> None:
        """Counts the error if the service failed or throttled the caller."""
        if error.query_code in THROTTLES or error.status == 503:
            self.count({"Service": service, "Action": action}, {"throttles": 1})
        elif not error.sender_fault:
            self.count({"Service": service, "Action": action}, {"errors": 1})

    def put_depth(self, depth: "QueueCountsRow") -> None:
        """Writes the gauges of a queue."""
        self.put(
            self._dimensions(depth.account_id, depth.region, depth.name),
            [
                Value("ApproximateNumberOfMessagesVisible", "Count", depth.visible),
                Value("ApproximateNumberOfMessagesNotVisible", "Count", depth.in_flight),
                Value("ApproximateNumberOfMessagesDelayed", "Count", depth.delayed),
                Value("ApproximateAgeOfOldestMessage", "Seconds", depth.oldest_age_seconds),
            ],
        )


class QueueUsage(Struct):
    """The usage of one queue. `sizes` are the added messages' sizes. `empty` means that the last receive found no
    message."""

    sizes: list[int] = field(default_factory=list)
    received: int = 0
    deleted: int = 0
    empty: bool = False


class Usage:
    """The usage of one request, by the queue's ARN."""

    def __init__(self) -> None:
        self.queues: dict[str, QueueUsage] = {}

    def count(self, report: Report) -> None:
        """Counts a report of the operation, unless the call made no change."""
        match report:
            case Sent(queue_arn=arn, count=count, sizes=sizes) if count:
                self._of(arn).sizes += sizes
            case Deleted(queue_arn=arn, count=count) if count:
                self._of(arn).deleted += count
            case Received(queue_arn=arn, messages=messages):
                queue = self._of(arn)
                queue.received += len(messages)
                queue.empty = not messages

    def _of(self, arn: str) -> QueueUsage:
        return self.queues.setdefault(arn, QueueUsage())
