"""Tests sqs-extended-client, which stores long bodies in S3 and sends a pointer. The argument is the service's address.

Moto runs S3 in this process. The program prints the received message, and the objects in S3 before and after, as a
Python literal.
"""

from __future__ import annotations

import sys
from typing import Any

import boto3
from moto import mock_aws
from sqs_extended_client import SQSExtendedClientSession

LONG = "ü" * 200_000
BUCKET = "long-messages"
QUEUE = "extended"


def objects(s3: Any) -> int:
    return sum(1 for _ in s3.Bucket(BUCKET).objects.all())


@mock_aws
def main(endpoint_url: str) -> None:
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
    s3 = boto3.resource("s3", **keys)
    s3.create_bucket(Bucket=BUCKET)
    sqs = SQSExtendedClientSession(**keys).client("sqs", endpoint_url=endpoint_url)
    sqs.large_payload_support = BUCKET
    sqs.s3 = s3
    url = sqs.create_queue(QueueName=QUEUE, Attributes={"VisibilityTimeout": "600"})["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody=LONG, MessageAttributes={})
    bodies = {"short": "short", "long": LONG}
    entries = [{"Id": key, "MessageBody": body, "MessageAttributes": {}} for key, body in bodies.items()]
    sqs.send_message_batch(QueueUrl=url, Entries=entries)
    facts: dict[str, Any] = {"in S3 when sent": objects(s3)}
    messages: list[dict[str, Any]] = []
    while len(messages) < 3:
        response = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=20)
        messages += response.get("Messages", [])
    facts["received"] = sorted([message["Body"][:1], len(message["Body"])] for message in messages)
    short, first, second = sorted(messages, key=lambda message: len(message["Body"]))
    sqs.delete_message(QueueUrl=url, ReceiptHandle=first["ReceiptHandle"])
    facts["in S3 when one is deleted"] = objects(s3)
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=second["ReceiptHandle"], VisibilityTimeout=0)
    entries = [{"Id": "short", "ReceiptHandle": short["ReceiptHandle"]}]
    facts["failed"] = sqs.delete_message_batch(QueueUrl=url, Entries=entries).get("Failed", [])
    sys.stdout.write(repr(facts))


if __name__ == "__main__":
    main(sys.argv[1])
