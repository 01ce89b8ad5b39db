"""What each route of the console asks the policies of who calls, by the name of its function.

A route that is not listed cannot be made. Actions on the queue or topic that the path names ask for that one, others
for `*`.
"""

from typing import Final, NamedTuple


class Right(NamedTuple):
    """`actions`: all of them must be allowed; none: whoever is signed in.

    `named`: queue or topic, what the path names, whose own policy counts, too. `is_public`: nobody is asked who he is.
    """

    actions: tuple[str, ...] = ()
    named: str = ""
    is_public: bool = False


PUBLIC: Final = Right(is_public=True)
SIGNED_IN: Final = Right()


def _of_queue(*actions: str) -> Right:
    return Right(actions, "queue")


def _of_topic(*actions: str) -> Right:
    return Right(actions, "topic")


RIGHTS: Final[dict[str, Right]] = {
    "root": PUBLIC,
    "asset": PUBLIC,
    "sign_in_page": PUBLIC,
    "sign_in": PUBLIC,
    "sign_out": SIGNED_IN,
    "no_page": SIGNED_IN,
    "overview": Right(("sqs:ListQueues", "penstock:GetLag")),
    "queues": Right(("sqs:ListQueues", "penstock:GetLag")),
    "create": Right(("sqs:CreateQueue",)),
    "queue": _of_queue("sqs:GetQueueAttributes", "penstock:GetQueueMetrics"),
    "purge": _of_queue("sqs:PurgeQueue"),
    "delete": _of_queue("sqs:DeleteQueue"),
    "attributes_form": _of_queue("sqs:GetQueueAttributes", "sqs:SetQueueAttributes"),
    "change_attributes": _of_queue("sqs:SetQueueAttributes"),
    "pause_queue": _of_queue("penstock:PauseQueue"),
    "redrive_page": _of_queue("sqs:ListMessageMoveTasks"),
    "redrive": _of_queue("sqs:StartMessageMoveTask"),
    "continue_redrive": _of_queue("sqs:StartMessageMoveTask"),
    "export": _of_queue("sqs:ReceiveMessage"),
    "cancel_redrive": _of_queue("sqs:CancelMessageMoveTask"),
    "failures": _of_queue("sqs:ReceiveMessage"),
    "messages": _of_queue("sqs:ReceiveMessage"),
    "message": _of_queue("sqs:ReceiveMessage"),
    "delete_messages": _of_queue("sqs:DeleteMessage"),
    "send_form": _of_queue("sqs:SendMessage"),
    "send": _of_queue("sqs:SendMessage"),
    "topics": Right(("sns:ListTopics",)),
    "topic": _of_topic("sns:GetTopicAttributes", "sns:ListSubscriptionsByTopic"),
    "publish": _of_topic("sns:Publish"),
    "schedules": Right(("scheduler:ListSchedules",)),
    "schedule": Right(("scheduler:GetSchedule",)),
    "run_now": Right(("penstock:RunSchedule",)),
    "set_status": Right(("scheduler:UpdateSchedule",)),
    "mappings": Right(("lambda:ListEventSourceMappings",)),
    "mapping": Right(("lambda:GetEventSourceMapping",)),
    "create_mapping": Right(("lambda:CreateEventSourceMapping",)),
    "set_mapping_state": Right(("lambda:UpdateEventSourceMapping",)),
    "delete_mapping": Right(("lambda:DeleteEventSourceMapping",)),
    "deliveries": Right(("penstock:ListDeliveries",)),
    "retry": Right(("penstock:RetryDelivery",)),
    "retry_failed": Right(("penstock:RetryDelivery",)),
    "pause_endpoint": Right(("penstock:PauseEndpoint",)),
    "send_test_event": Right(("penstock:TestEndpoint",)),
    "system": Right(("penstock:GetMetrics",)),
    "keys": Right(("penstock:ReadKeys",)),
    "audit": Right(("penstock:ReadAudit",)),
}
