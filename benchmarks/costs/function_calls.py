"""Defines a valid request for every function that handles requests. Every repetition of a request has the same cost."""

import json
from collections.abc import Mapping
from typing import Any

from penstock.aws.codec import cbor
from tests.support.local_lambda.events import Request

ACCOUNT = "000000000000"
HOST = ("Host", "sqs.internal")
QUEUE = f"http://sqs.internal/{ACCOUNT}/bench"
QUEUE_ARN, DEAD_ARN = (f"arn:aws:sqs:us-east-1:{ACCOUNT}:{name}" for name in ("bench", "dead"))
TOPIC = f"arn:aws:sns:us-east-1:{ACCOUNT}:bench"
GROUP_ARN = f"arn:aws:scheduler:us-east-1:{ACCOUNT}:schedule-group/bench"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/bench"
SCHEDULE = {
    "ScheduleExpression": "rate(1 day)",
    "FlexibleTimeWindow": {"Mode": "OFF"},
    "Target": {"Arn": QUEUE_ARN, "RoleArn": ROLE, "Input": "x"},
}
BODY = "x" * 1000
PERMISSION = {"Label": "bench", "AWSAccountIds": [ACCOUNT], "Actions": ["SendMessage"]}

# Maps actions to members of their requests. Values in braces are placeholders for members of earlier responses. The
# service refuses repeated calls of the following actions early: ConfirmSubscription, Unsubscribe, StartMessageMoveTask,
# CancelMessageMoveTask, DeleteQueue, CreateSchedule, CreateScheduleGroup and AddPermission.
SQS: Mapping[str, Mapping[str, Any]] = {
    "CreateQueue": {"QueueName": "bench"},
    "GetQueueUrl": {"QueueName": "bench"},
    "ListQueues": {},
    "GetQueueAttributes": {"QueueUrl": QUEUE, "AttributeNames": ["All"]},
    "SetQueueAttributes": {"QueueUrl": QUEUE, "Attributes": {"DelaySeconds": "0"}},
    "SendMessage": {"QueueUrl": QUEUE, "MessageBody": BODY},
    "SendMessageBatch": {"QueueUrl": QUEUE, "Entries": [{"Id": str(n), "MessageBody": BODY} for n in range(10)]},
    "ReceiveMessage": {"QueueUrl": QUEUE, "MaxNumberOfMessages": 1, "VisibilityTimeout": 0},
    "ChangeMessageVisibility": {"QueueUrl": QUEUE, "ReceiptHandle": "{handle}", "VisibilityTimeout": 40000},
    "ChangeMessageVisibilityBatch": {
        "QueueUrl": QUEUE,
        "Entries": [{"Id": "0", "ReceiptHandle": "{handle}", "VisibilityTimeout": 40000}],
    },
    "DeleteMessage": {"QueueUrl": QUEUE, "ReceiptHandle": "{handle}"},
    "DeleteMessageBatch": {"QueueUrl": QUEUE, "Entries": [{"Id": "0", "ReceiptHandle": "{handle}"}]},
    "TagQueue": {"QueueUrl": QUEUE, "Tags": {"a": "b"}},
    "UntagQueue": {"QueueUrl": QUEUE, "TagKeys": ["c"]},
    "ListQueueTags": {"QueueUrl": QUEUE},
    "AddPermission": {"QueueUrl": QUEUE, **PERMISSION},
    "RemovePermission": {"QueueUrl": QUEUE, "Label": "bench"},
    "ListDeadLetterSourceQueues": {"QueueUrl": QUEUE.replace("bench", "dead")},
    "StartMessageMoveTask": {"SourceArn": DEAD_ARN},
    "ListMessageMoveTasks": {"SourceArn": DEAD_ARN},
    "CancelMessageMoveTask": {"TaskHandle": "bench"},
    "PurgeQueue": {"QueueUrl": QUEUE.replace("bench", "dead")},
    "DeleteQueue": {"QueueUrl": QUEUE.replace("bench", "gone")},
}
APPLICATION = f"arn:aws:sns:us-east-1:{ACCOUNT}:app/GCM/bench"
ENDPOINT = f"arn:aws:sns:us-east-1:{ACCOUNT}:endpoint/GCM/bench/00000000-0000-4000-8000-000000000000"
PHONE = "+15550100123"
SNS: Mapping[str, Mapping[str, Any]] = {
    "CreateTopic": {"Name": "bench"},
    "GetTopicAttributes": {"TopicArn": TOPIC},
    "SetTopicAttributes": {"TopicArn": TOPIC, "AttributeName": "DisplayName", "AttributeValue": "b"},
    "ListTopics": {},
    "Subscribe": {"TopicArn": TOPIC, "Protocol": "sqs", "Endpoint": QUEUE_ARN},
    "ListSubscriptions": {},
    "ListSubscriptionsByTopic": {"TopicArn": TOPIC},
    "GetSubscriptionAttributes": {"SubscriptionArn": "{subscription}"},
    "SetSubscriptionAttributes": {
        "SubscriptionArn": "{subscription}",
        "AttributeName": "RawMessageDelivery",
        "AttributeValue": "true",
    },
    "ConfirmSubscription": {"TopicArn": TOPIC, "Token": "0" * 160},
    "Publish": {"TopicArn": TOPIC, "Message": BODY},
    "PublishBatch": {
        "TopicArn": TOPIC,
        "PublishBatchRequestEntries": [{"Id": str(n), "Message": BODY} for n in range(10)],
    },
    "AddPermission": {"TopicArn": TOPIC, "Label": "b", "AWSAccountId": [ACCOUNT], "ActionName": ["Publish"]},
    "RemovePermission": {"TopicArn": TOPIC, "Label": "b"},
    "TagResource": {"ResourceArn": TOPIC, "Tags": [{"Key": "a", "Value": "b"}]},
    "UntagResource": {"ResourceArn": TOPIC, "TagKeys": ["c"]},
    "ListTagsForResource": {"ResourceArn": TOPIC},
    "GetDataProtectionPolicy": {"ResourceArn": TOPIC},
    "PutDataProtectionPolicy": {"ResourceArn": TOPIC, "DataProtectionPolicy": "{}"},
    "Unsubscribe": {"SubscriptionArn": f"{TOPIC}:00000000-0000-4000-8000-000000000000"},
    "DeleteTopic": {"TopicArn": f"{TOPIC}-gone"},
    "CreatePlatformApplication": {"Name": "bench", "Platform": "GCM", "Attributes": {"PlatformCredential": "b"}},
    "GetPlatformApplicationAttributes": {"PlatformApplicationArn": APPLICATION},
    "SetPlatformApplicationAttributes": {"PlatformApplicationArn": APPLICATION, "Attributes": {"Enabled": "true"}},
    "ListPlatformApplications": {},
    "CreatePlatformEndpoint": {"PlatformApplicationArn": APPLICATION, "Token": "b"},
    "GetEndpointAttributes": {"EndpointArn": ENDPOINT},
    "SetEndpointAttributes": {"EndpointArn": ENDPOINT, "Attributes": {"Enabled": "true"}},
    "ListEndpointsByPlatformApplication": {"PlatformApplicationArn": APPLICATION},
    "DeleteEndpoint": {"EndpointArn": ENDPOINT},
    "DeletePlatformApplication": {"PlatformApplicationArn": f"{APPLICATION}-gone"},
    "SetSMSAttributes": {"attributes": {"DefaultSMSType": "Promotional"}},
    "GetSMSAttributes": {},
    "CheckIfPhoneNumberIsOptedOut": {"phoneNumber": PHONE},
    "ListPhoneNumbersOptedOut": {},
    "OptInPhoneNumber": {"phoneNumber": PHONE},
    "ListOriginationNumbers": {},
    "GetSMSSandboxAccountStatus": {},
    "CreateSMSSandboxPhoneNumber": {"PhoneNumber": PHONE},
    "VerifySMSSandboxPhoneNumber": {"PhoneNumber": PHONE, "OneTimePassword": "000000"},
    "ListSMSSandboxPhoneNumbers": {},
    "DeleteSMSSandboxPhoneNumber": {"PhoneNumber": PHONE},
}
# Maps actions to method, path and body. The method and the path select the action.
SCHEDULER: Mapping[str, tuple[str, str, Any]] = {
    "CreateScheduleGroup": ("POST", "/schedule-groups/bench", {}),
    "GetScheduleGroup": ("GET", "/schedule-groups/bench", None),
    "ListScheduleGroups": ("GET", "/schedule-groups", None),
    "CreateSchedule": ("POST", "/schedules/bench", SCHEDULE),
    "GetSchedule": ("GET", "/schedules/bench", None),
    "UpdateSchedule": ("PUT", "/schedules/bench", SCHEDULE),
    "ListSchedules": ("GET", "/schedules", None),
    "TagResource": ("POST", f"/tags/{GROUP_ARN.replace('/', '%2F')}", {"Tags": [{"Key": "a", "Value": "b"}]}),
    "UntagResource": ("DELETE", f"/tags/{GROUP_ARN.replace('/', '%2F')}", None),
    "ListTagsForResource": ("GET", f"/tags/{GROUP_ARN.replace('/', '%2F')}", None),
    "DeleteSchedule": ("DELETE", "/schedules/gone", None),
    "DeleteScheduleGroup": ("DELETE", "/schedule-groups/gone", None),
}
# Maps actions to members of their requests, without the bus.
EVENTS: Mapping[str, Mapping[str, Any]] = {
    "PutEvents": {"Entries": [{"Source": "bench", "DetailType": "x", "Detail": json.dumps({"text": BODY})}]},
    "PutRawEvents": {
        "Entries": [{"Data": BODY.encode(), "SystemMetadata": {"ContentType": "application/octet-stream"}}]
    },
}


def request_of(function: str, placeholders: Mapping[str, str]) -> Request | None:
    """Returns the request for a function such as SqsSendMessage, or None if the function handles no requests."""
    if function == "Rest":
        return Request("GET", "/v1/queues/bench", headers=(HOST,))
    if function.startswith("Scheduler"):
        return scheduler_request(*SCHEDULER[function.removeprefix("Scheduler")])
    if function.startswith("Events"):
        action = function.removeprefix("Events")
        members = {"EventBusArn": placeholders.get("bus", ""), **EVENTS.get(action, {})}
        return cbor_request(action, members) if action in EVENTS else None
    if function == "Gateway":
        form = f"Action=SendMessage&QueueUrl={QUEUE}&MessageBody={BODY}".encode()
        return Request(headers=(HOST, ("Content-Type", "application/x-www-form-urlencoded")), body=form)
    service, action = function[:3], function[3:]
    calls = {"Sqs": SQS, "Sns": SNS}.get(service, {})
    return json_request(service, action, calls[action], placeholders) if action in calls else None


def scheduler_request(method: str, path: str, body: Any) -> Request:
    query = "TagKeys=c" if method == "DELETE" and path.startswith("/tags") else ""
    content = b"" if body is None else json.dumps(body).encode()
    return Request(method, path, query, (HOST, ("Content-Type", "application/json")), content)


def cbor_request(action: str, members: Mapping[str, Any]) -> Request:
    headers = (HOST, ("Content-Type", "application/cbor"), ("Smithy-Protocol", "rpc-v2-cbor"))
    return Request("POST", f"/service/AWSEventsV2/operation/{action}", "", headers, cbor.encode(dict(members)))


def json_request(service: str, action: str, members: Mapping[str, Any], placeholders: Mapping[str, str]) -> Request:
    target = f"Amazon{service.upper()}.{action}"
    headers = (HOST, ("Content-Type", "application/x-amz-json-1.0"), ("X-Amz-Target", target))
    text = json.dumps(members)
    for name, value in placeholders.items():
        text = text.replace(f"{{{name}}}", value)
    return Request(headers=headers, body=text.encode())
