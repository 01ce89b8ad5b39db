"""Calls Airflow's hooks, operator and sensor for SQS and SNS outside a scheduler, and prints their results.

Airflow finds its connection in AIRFLOW_CONN_AWS_DEFAULT.
"""

import json
from typing import Any

from airflow.providers.amazon.aws.hooks.sns import SnsHook
from airflow.providers.amazon.aws.hooks.sqs import SqsHook
from airflow.providers.amazon.aws.operators.sqs import SqsPublishOperator
from airflow.providers.amazon.aws.sensors.sqs import SqsSensor


class Task:
    """Stores the values that a sensor passes to other tasks."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def xcom_push(self, key: str, value: Any) -> None:
        self.found[key] = value


def main() -> None:
    sqs, sns = SqsHook(), SnsHook()
    queue = sqs.create_queue("airflow")["QueueUrl"]
    topic = sns.get_conn().create_topic(Name="airflow")["TopicArn"]
    target = "arn:aws:sqs:us-east-1:000000000000:airflow"
    raw = {"RawMessageDelivery": "true"}
    sns.get_conn().subscribe(TopicArn=topic, Protocol="sqs", Endpoint=target, Attributes=raw)
    kind = {"kind": {"DataType": "String", "StringValue": "order"}}
    sqs.send_message(queue, "grüße", message_attributes=kind)
    sns.publish_to_target(topic, "by the topic", message_attributes={"number": 7, "list": ["a"]})
    SqsPublishOperator(task_id="send", sqs_queue=queue, message_content="by the operator").execute({})
    task = Task()
    found: list[str] = []
    while len(found) < 3:
        sensor = SqsSensor(task_id="wait", sqs_queue=queue, max_messages=10, wait_time_seconds=20, deferrable=False)
        if sensor.poke({"ti": task}):
            found += [message["Body"] for message in task.found["messages"]]
    print(json.dumps({"bodies": sorted(found)}))  # noqa: T201


if __name__ == "__main__":
    main()
