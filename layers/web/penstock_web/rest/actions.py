"""What policies call the routes of the REST API: AWS's name of the same action, or one with the prefix `penstock:`.

By the name of the route's function. An action on the queue that the path names asks for that queue; others ask for `*`,
and for each queue that the body names, as one to send to or to delete from.
"""

from typing import Final

ACTIONS: Final[dict[str, tuple[str, ...]]] = {
    "create_queue": ("sqs:CreateQueue",),
    "list_queues": ("sqs:ListQueues",),
    "describe_queue": ("sqs:GetQueueAttributes",),
    "change_queue": ("sqs:SetQueueAttributes",),
    "delete_queue": ("sqs:DeleteQueue",),
    "list_receivers": ("penstock:ListReceivers",),
    "purge_queue": ("sqs:PurgeQueue",),
    "pause_queue": ("penstock:PauseQueue",),
    "resume_queue": ("penstock:PauseQueue",),
    "send": ("sqs:SendMessage",),
    "receive": ("sqs:ReceiveMessage",),
    "peek": ("sqs:ReceiveMessage",),
    "search": ("sqs:ReceiveMessage",),
    "failures": ("sqs:ReceiveMessage",),
    "start_move": ("sqs:StartMessageMoveTask",),
    "list_moves": ("sqs:ListMessageMoveTasks",),
    "describe_move": ("sqs:ListMessageMoveTasks",),
    "continue_move": ("sqs:StartMessageMoveTask",),
    "cancel_move": ("sqs:CancelMessageMoveTask",),
    "delete": ("sqs:DeleteMessage",),
    "delete_one": ("sqs:DeleteMessage",),
    "change_visibility": ("sqs:ChangeMessageVisibility",),
    "read_archive": ("penstock:ReadArchive",),
    "queue_metrics": ("penstock:GetQueueMetrics",),
    "queue_minutes": ("penstock:GetQueueMetrics",),
    "queue_subscriptions": ("penstock:ListSubscriptions",),
    "lag": ("penstock:GetLag",),
    "transact": ("sqs:SendMessage", "sqs:DeleteMessage", "penstock:PublishEvent"),
    "list_deliveries": ("penstock:ListDeliveries",),
    "retry": ("penstock:RetryDelivery",),
    "retry_failed": ("penstock:RetryDelivery",),
    "list_attempts": ("penstock:ListDeliveries",),  # and penstock:ReadAnswers to see how answers begin
    "list_endpoints": ("penstock:ListDeliveries",),
    "pause_endpoint": ("penstock:PauseEndpoint",),
    "resume_endpoint": ("penstock:PauseEndpoint",),
    "test_endpoint": ("penstock:TestEndpoint",),
    "list_outbox": ("penstock:ReadOutbox",),
    "opt_out": ("penstock:OptOutPhoneNumber",),
    "publish": ("penstock:PublishEvent",),
    "matches": ("penstock:MatchEvent",),
    "subscribe": ("penstock:Subscribe",),
    "list_subscriptions": ("penstock:ListSubscriptions",),
    "unsubscribe": ("penstock:Unsubscribe",),
    "list_users": ("penstock:ReadKeys",),
    "set_user": ("penstock:SetUser",),
    "end_user": ("penstock:EndUser",),
    "list_keys": ("penstock:ReadKeys",),
    "create_key": ("penstock:CreateKey",),
    "limit_key": ("penstock:LimitKey",),
    "revoke_key": ("penstock:RevokeKey",),
    "create_topic": ("sns:CreateTopic",),
    "list_topics": ("sns:ListTopics",),
    "describe_topic": ("sns:GetTopicAttributes", "sns:ListTagsForResource"),
    "delete_topic": ("sns:DeleteTopic",),
    "publish_message": ("sns:Publish",),
    "list_topic_subscriptions": ("sns:ListSubscriptionsByTopic",),
    "subscribe_to_topic": ("sns:Subscribe",),
    "unsubscribe_from_topic": ("sns:Unsubscribe",),
    "create_schedule": ("scheduler:CreateSchedule",),
    "list_schedules": ("scheduler:ListSchedules",),
    "sync_schedules": ("scheduler:CreateSchedule", "scheduler:UpdateSchedule", "scheduler:DeleteSchedule"),
    "describe_schedule": ("scheduler:GetSchedule",),
    "replace_schedule": ("scheduler:CreateSchedule", "scheduler:UpdateSchedule"),
    "change_schedule": ("scheduler:UpdateSchedule",),
    "delete_schedule": ("scheduler:DeleteSchedule",),
    "run_schedule": ("penstock:RunSchedule",),
    "list_runs": ("scheduler:GetSchedule",),
    "preview": ("penstock:PreviewSchedule",),
    "create_mapping": ("lambda:CreateEventSourceMapping",),
    "list_mappings": ("lambda:ListEventSourceMappings", "lambda:ListTags"),
    "describe_mapping": ("lambda:GetEventSourceMapping", "lambda:ListTags"),
    "change_mapping": ("lambda:UpdateEventSourceMapping", "lambda:TagResource", "lambda:UntagResource"),
    "delete_mapping": ("lambda:DeleteEventSourceMapping",),
    "mcp": (),  # each tool asks for the actions of the route that does the same
    "metrics": ("penstock:GetMetrics",),  # /metrics, which tells of all accounts
}

OF_A_QUEUE: Final = frozenset((
    "describe_queue", "change_queue", "delete_queue", "purge_queue", "pause_queue", "resume_queue", "list_receivers",
    "send", "receive", "peek", "search", "failures", "delete", "delete_one", "change_visibility",
    "read_archive", "queue_metrics", "queue_minutes", "queue_subscriptions",
    "start_move", "list_moves", "describe_move", "continue_move", "cancel_move",
))  # fmt: skip
"""The routes whose path names a queue."""
OF_A_TOPIC: Final = frozenset((
    "describe_topic", "delete_topic", "publish_message", "list_topic_subscriptions", "subscribe_to_topic",
    "unsubscribe_from_topic",
))  # fmt: skip
"""The routes whose path names a topic."""
