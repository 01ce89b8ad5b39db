"""Delivers events that an SDK publishes to another bus, and from there to a Lambda function, by a running service.

Source: "Targets" of the custom event bus (Amazon EventBridge User Guide,
https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus.html).
"""

import json
from datetime import UTC, datetime
from typing import Any

from tests.support.database import Database
from tests.support.function_endpoint import Answer, serve_functions
from tests.support.programs.penstock_service import Service, running_service
from tests.support.wait import wait_until

ROLE = "arn:aws:iam::000000000000:role/bus"
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:work"


def test_an_event_passes_two_buses_and_reaches_a_function(database: Database) -> None:
    with (
        serve_functions() as functions,
        running_service(database.api_dsn, QUEUE_LAMBDA_ENDPOINT=functions.url) as service,
    ):
        functions.answer = lambda _: Answer(200)
        client: Any = service.client("eventbridgev2")
        first, second = (client.create_event_bus(Name=name)["EventBusArn"] for name in ("first", "second"))
        client.create_subscriber(
            Name="forward", EventBusArn=first, InvokeConfiguration={"TargetArn": second, "RoleArn": ROLE}
        )
        client.create_subscriber(
            Name="work",
            EventBusArn=second,
            Type="FIFO",
            InvokeConfiguration={
                "TargetArn": FUNCTION,
                "RoleArn": ROLE,
                "LambdaParameters": {"InvocationType": "REQUEST_RESPONSE", "InvocationTimeoutSeconds": "5"},
            },
        )
        entries = [
            {
                "Source": "shop",
                "DetailType": "order",
                "Detail": json.dumps({"n": n}),
                "SystemMetadata": {"EventGroupId": "g"},
            }
            for n in range(3)
        ]
        client.put_events(EventBusArn=first, Entries=entries)
        wait_until(lambda: sum(map(len, functions.payloads)) == 3)
        events = [event for payload in functions.payloads for event in payload]
        assert [event["detail"] for event in events] == [{"n": 0}, {"n": 1}, {"n": 2}]
        assert {(event["source"], event["detail-type"]) for event in events} == {("shop", "order")}
        assert {invocation.kind for invocation in functions.invocations} == {"RequestResponse"}
        check_schedule(service)


def check_schedule(service: Service) -> None:
    """A schedule publishes an event on a bus, whose subscriber sends a message by a universal target."""
    bus = service.client("eventbridgev2").create_event_bus(Name="scheduled")["EventBusArn"]
    queue = service.client("sqs").create_queue(QueueName="scheduled")["QueueUrl"]
    request = f"{{% {{'QueueUrl': '{queue}', 'MessageBody': $string($events.Data.detail)}} %}}"
    service.client("eventbridgev2").create_subscriber(
        Name="send",
        EventBusArn=bus,
        InvokeConfiguration={
            "TargetArn": "arn:aws:events:::aws-sdk:sqs:sendMessage",
            "RoleArn": ROLE,
            "UniversalTargetParameters": {"Input": request},
        },
        BatchConfiguration={"MaxBatchSize": 1, "MaxBatchWindowInSeconds": 0},
    )
    service.client("scheduler").create_schedule(
        Name="once",
        ScheduleExpression=f"at({datetime.now(UTC):%Y-%m-%dT%H:%M:%S})",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={
            "Arn": bus,
            "RoleArn": ROLE,
            "Input": '{"attempt": "<aws.scheduler.attempt-number>"}',
            "EventBridgePutEventsV2Parameters": {"DetailType": "order", "Source": "shop"},
        },
    )
    found = service.client("sqs").receive_message(QueueUrl=queue, WaitTimeSeconds=20)
    assert [message["Body"] for message in found["Messages"]] == ['{"attempt":"1"}']
