"""Creates a schedule that sends a message to a queue once, in two seconds, with EventBridge Scheduler's API.

Other expressions are `rate(5 minutes)` and `cron(0 9 ? * MON-FRI *)`. docs/reference/schedules.md lists all kinds of
expressions.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3


def client(service: str) -> Any:
    return boto3.client(
        service, endpoint_url=os.environ.get("AWS_ENDPOINT_URL", "http://127.0.0.1:9324"), region_name="us-east-1",
        aws_access_key_id="any", aws_secret_access_key="any",
    )  # fmt: skip


def main() -> None:
    sqs, scheduler = client("sqs"), client("scheduler")
    url = sqs.create_queue(QueueName="example-reports")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    due = datetime.now(UTC) + timedelta(seconds=2)
    report = f"report of {due:%H:%M:%S}"
    scheduler.create_schedule(
        Name=f"example-report-{due:%Y%m%d%H%M%S}",
        ScheduleExpression=f"at({due:%Y-%m-%dT%H:%M:%S})",
        ScheduleExpressionTimezone="UTC",
        FlexibleTimeWindow={"Mode": "OFF"},
        ActionAfterCompletion="DELETE",
        # AWS needs a real role. Penstock only checks the form of the ARN.
        Target={"Arn": arn, "RoleArn": "arn:aws:iam::000000000000:role/schedules", "Input": json.dumps({"do": report})},
    )
    print(f"scheduled: {report}")
    while True:
        for message in sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20).get("Messages", []):
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            if json.loads(message["Body"]) == {"do": report}:
                print(f"received: {report}")
                return


if __name__ == "__main__":
    main()
