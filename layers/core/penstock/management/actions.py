"""The names of actions in policies: AWS's names, and Penstock's names with the prefix `penstock:`."""

from typing import Final

from penstock.actions import ACTIONS, MAPPING_ACTIONS

OWN_ACTIONS: Final = frozenset(
    f"penstock:{name}"
    for name in (
        "CreateKey", "EndUser", "GetAlerts", "GetLag", "GetMetrics", "GetQueueMetrics", "LimitKey", "ListDeliveries",
        "ListReceivers", "ListSubscriptions", "MatchEvent", "MuteAlerts", "OptOutPhoneNumber", "PauseEndpoint",
        "PauseQueue", "PreviewSchedule", "PublishEvent", "PublishToPhoneNumber", "ReadResponses", "ReadArchive",
        "ReadAudit", "ReadKeys", "ReadOutbox", "ReadWebhookSecret", "ReplayEvents",
        "RetryDelivery", "RevokeKey", "RunSchedule", "SetAlerts", "SetUser", "Subscribe",
        "TestAlerts", "TestEndpoint",
        "Unsubscribe",
    )
)  # fmt: skip
"""Penstock's own actions. docs/operate/policies.md lists them."""
API_DESTINATION_ACTIONS: Final = frozenset(
    f"events:{name}"
    for name in (
        "CreateApiDestination", "CreateConnection", "DeleteApiDestination", "DeleteConnection",
        "DescribeApiDestination", "DescribeConnection", "InvokeApiDestination", "ListApiDestinations",
        "ListConnections", "UpdateApiDestination", "UpdateConnection",
    )
)  # fmt: skip
"""AWS's actions of the classic EventBridge API that only the REST API offers, and the right to a target."""
KNOWN_ACTIONS: Final = (
    OWN_ACTIONS
    | API_DESTINATION_ACTIONS
    | {f"{action.service}:{action.name}" for action in (*ACTIONS, *MAPPING_ACTIONS)}
)
