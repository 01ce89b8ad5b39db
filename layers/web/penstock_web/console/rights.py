"""What each route of the console asks the policies of who calls, by the name of its function.

A route that is not listed cannot be made. Actions on the queue or topic that the path names ask for that one, others
for `*`.
"""

from typing import Final

from penstock.management.rights import PUBLIC, SIGNED_IN, Right, require, require_on_queue, require_on_topic

RIGHTS: Final[dict[str, Right]] = {
    "root": PUBLIC,
    "asset": PUBLIC,
    "sign_in_page": PUBLIC,
    "sign_in": PUBLIC,
    "sign_out": SIGNED_IN,
    "no_page": SIGNED_IN,
    "overview": require("sqs:ListQueues", "penstock:GetLag"),
    "queues": require("sqs:ListQueues", "penstock:GetLag"),
    "create": require("sqs:CreateQueue"),
    "queue": require_on_queue("sqs:GetQueueAttributes", "penstock:GetQueueMetrics"),
    "purge": require_on_queue("sqs:PurgeQueue"),
    "delete": require_on_queue("sqs:DeleteQueue"),
    "attributes_form": require_on_queue("sqs:GetQueueAttributes", "sqs:SetQueueAttributes"),
    "change_attributes": require_on_queue("sqs:SetQueueAttributes"),
    "pause_queue": require_on_queue("penstock:PauseQueue"),
    "redrive_page": require_on_queue("sqs:ListMessageMoveTasks"),
    "redrive": require_on_queue("sqs:StartMessageMoveTask"),
    "continue_redrive": require_on_queue("sqs:StartMessageMoveTask"),
    "export": require_on_queue("sqs:ReceiveMessage"),
    "cancel_redrive": require_on_queue("sqs:CancelMessageMoveTask"),
    "failures": require_on_queue("sqs:ReceiveMessage"),
    "messages": require_on_queue("sqs:ReceiveMessage"),
    "message": require_on_queue("sqs:ReceiveMessage"),
    "delete_messages": require_on_queue("sqs:DeleteMessage"),
    "send_form": require_on_queue("sqs:SendMessage"),
    "send": require_on_queue("sqs:SendMessage"),
    "topics": require("sns:ListTopics"),
    "topic": require_on_topic("sns:GetTopicAttributes", "sns:ListSubscriptionsByTopic"),
    "publish": require_on_topic("sns:Publish"),
    "schedules": require("scheduler:ListSchedules"),
    "schedule": require("scheduler:GetSchedule"),
    "run_now": require("penstock:RunSchedule"),
    "set_status": require("scheduler:UpdateSchedule"),
    "mappings": require("lambda:ListEventSourceMappings"),
    "mapping": require("lambda:GetEventSourceMapping"),
    "create_mapping": require("lambda:CreateEventSourceMapping"),
    "set_mapping_state": require("lambda:UpdateEventSourceMapping"),
    "delete_mapping": require("lambda:DeleteEventSourceMapping"),
    "deliveries": require("penstock:ListDeliveries"),
    "retry": require("penstock:RetryDelivery"),
    "retry_failed": require("penstock:RetryDelivery"),
    "pause_endpoint": require("penstock:PauseEndpoint"),
    "send_test_event": require("penstock:TestEndpoint"),
    "system": require("penstock:GetMetrics"),
    "keys": require("penstock:ReadKeys"),
    "audit": require("penstock:ReadAudit"),
}
