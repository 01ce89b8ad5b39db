"""The table of actions: every action of every service, its request and result types, and its operation.

`make generate` writes the entry points in `functions/`, the functions of `template.yaml`, the load balancer's rules
and the alarms from ACTIONS; the gateway reads it, and tests compare the documentation with it. An action whose result
type is None has an answer without a body.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr

from .context import Context
from .effects import Operation
from .mappings import types as mappings
from .scheduler import types as scheduler
from .sns import types as sns
from .sqs import types as sqs
from .sts import types as sts

RequestT = TypeVar("RequestT", bound=Struct)
ResultT = TypeVar("ResultT", bound=Struct | None)

AnyOperation: TypeAlias = Callable[[Any, Context], Operation[Any]]
"""An operation whose request and result only the row of the table knows."""


class OperationModule:
    """A module with operations, imported at the first call: a function of one action imports no other module."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> "LazyOperation":
        return LazyOperation(self._name, name)


class LazyOperation:
    """One operation of an OperationModule."""

    __slots__ = ("_module", "_name")

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def __call__(self, request: Any, context: Context) -> Operation[Any]:
        return self.load()(request, context)

    def load(self) -> AnyOperation:
        """The operation itself."""
        operation: AnyOperation = getattr(import_module(f"{__package__}.{self._module}"), self._name)
        return operation


if TYPE_CHECKING:  # a misspelt operation is an error of mypy, and so is one of another request or result
    from .mappings import operations as mapping_operations
    from .scheduler import groups as scheduler_groups
    from .scheduler import schedules as scheduler_schedules
    from .sns import permissions as topic_permissions
    from .sns import publish as publishing
    from .sns import subscriptions, topics
    from .sns.mobile import platform_applications, platform_endpoints
    from .sns.sms import sandbox as sms_sandbox
    from .sns.sms import settings as sms_settings
    from .sqs import dead_letter_sources as dead_letters
    from .sqs import delete as deleting
    from .sqs import move_tasks, permissions, queues, tags, visibility
    from .sqs import peek as peeking
    from .sqs import receive as receiving
    from .sqs import send as sending
    from .sts import credentials as sts_credentials
else:
    dead_letters = OperationModule("sqs.dead_letter_sources")
    deleting = OperationModule("sqs.delete")
    mapping_operations = OperationModule("mappings.operations")
    move_tasks = OperationModule("sqs.move_tasks")
    peeking = OperationModule("sqs.peek")
    permissions = OperationModule("sqs.permissions")
    platform_applications = OperationModule("sns.mobile.platform_applications")
    platform_endpoints = OperationModule("sns.mobile.platform_endpoints")
    publishing = OperationModule("sns.publish")
    queues = OperationModule("sqs.queues")
    receiving = OperationModule("sqs.receive")
    scheduler_groups = OperationModule("scheduler.groups")
    scheduler_schedules = OperationModule("scheduler.schedules")
    sending = OperationModule("sqs.send")
    sms_sandbox = OperationModule("sns.sms.sandbox")
    sms_settings = OperationModule("sns.sms.settings")
    sts_credentials = OperationModule("sts.credentials")
    subscriptions = OperationModule("sns.subscriptions")
    tags = OperationModule("sqs.tags")
    topic_permissions = OperationModule("sns.permissions")
    topics = OperationModule("sns.topics")
    visibility = OperationModule("sqs.visibility")


class Service(Struct, frozen=True):
    """A service on the wire: prefix of `X-Amz-Target`, namespace of its XML and `Version` of its Query API.

    A REST-JSON service has neither prefix nor namespace: its actions have routes.
    """

    name: str
    target_prefix: str
    xml_namespace: str
    version: str


class Action(Struct, Generic[RequestT, ResultT], frozen=True, eq=False):
    """One row of the table. `name` is AWS's spelling; `route`: method and path of an action of REST-JSON; `status`: of
    its answer.
    """

    service: str
    name: str
    request: type[RequestT]
    result: type[ResultT] | None
    operation: Callable[[RequestT, Context], Operation[ResultT]]
    route: str = ""
    status: int = 200
    label: str = ""
    """sqs:SendMessage, as policies write it. Computed from `service` and `name`."""

    def __post_init__(self) -> None:
        force_setattr(self, "label", f"{self.service}:{self.name}")


AnyAction: TypeAlias = Action[Struct, Struct | None]
"""An action whose request and result only its row of the table knows."""

SERVICES = {
    "sqs": Service("sqs", "AmazonSQS", "http://queue.amazonaws.com/doc/2012-11-05/", "2012-11-05"),
    "sns": Service("sns", "AmazonSNS", "http://sns.amazonaws.com/doc/2010-03-31/", "2010-03-31"),
    "scheduler": Service("scheduler", "", "", "2021-06-30"),
    "lambda": Service("lambda", "", "", "2015-03-31"),
    "sts": Service("sts", "", "https://sts.amazonaws.com/doc/2011-06-15/", "2011-06-15"),
}

# fmt: off
ACTIONS: tuple[Action[Any, Any], ...] = (
    Action("sqs", "CreateQueue", sqs.CreateQueueRequest, sqs.CreateQueueResult, queues.create_queue),
    Action("sqs", "DeleteQueue", sqs.DeleteQueueRequest, None, queues.delete_queue),
    Action("sqs", "GetQueueUrl", sqs.GetQueueUrlRequest, sqs.GetQueueUrlResult, queues.get_queue_url),
    Action("sqs", "ListQueues", sqs.ListQueuesRequest, sqs.ListQueuesResult, queues.list_queues),
    Action("sqs", "GetQueueAttributes", sqs.GetQueueAttributesRequest, sqs.GetQueueAttributesResult,
           queues.get_queue_attributes),
    Action("sqs", "SetQueueAttributes", sqs.SetQueueAttributesRequest, None, queues.set_queue_attributes),
    Action("sqs", "PurgeQueue", sqs.PurgeQueueRequest, None, queues.purge_queue),
    Action("sqs", "SendMessage", sqs.SendMessageRequest, sqs.SendMessageResult, sending.send_message),
    Action("sqs", "SendMessageBatch", sqs.SendMessageBatchRequest, sqs.SendMessageBatchResult,
           sending.send_message_batch),
    Action("sqs", "ReceiveMessage", sqs.ReceiveMessageRequest, sqs.ReceiveMessageResult, receiving.receive_message),
    Action("sqs", "DeleteMessage", sqs.DeleteMessageRequest, None, deleting.delete_message),
    Action("sqs", "DeleteMessageBatch", sqs.DeleteMessageBatchRequest, sqs.DeleteMessageBatchResult,
           deleting.delete_message_batch),
    Action("sqs", "ChangeMessageVisibility", sqs.ChangeMessageVisibilityRequest, None,
           visibility.change_message_visibility),
    Action("sqs", "ChangeMessageVisibilityBatch", sqs.ChangeMessageVisibilityBatchRequest,
           sqs.ChangeMessageVisibilityBatchResult, visibility.change_message_visibility_batch),
    Action("sqs", "TagQueue", sqs.TagQueueRequest, None, tags.tag_queue),
    Action("sqs", "UntagQueue", sqs.UntagQueueRequest, None, tags.untag_queue),
    Action("sqs", "ListQueueTags", sqs.ListQueueTagsRequest, sqs.ListQueueTagsResult, tags.list_queue_tags),
    Action("sqs", "AddPermission", sqs.AddPermissionRequest, None, permissions.add_permission),
    Action("sqs", "RemovePermission", sqs.RemovePermissionRequest, None, permissions.remove_permission),
    Action("sqs", "ListDeadLetterSourceQueues", sqs.ListDeadLetterSourceQueuesRequest,
           sqs.ListDeadLetterSourceQueuesResult, dead_letters.list_dead_letter_source_queues),
    Action("sqs", "StartMessageMoveTask", sqs.StartMessageMoveTaskRequest, sqs.StartMessageMoveTaskResult,
           move_tasks.start_message_move_task),
    Action("sqs", "ListMessageMoveTasks", sqs.ListMessageMoveTasksRequest, sqs.ListMessageMoveTasksResult,
           move_tasks.list_message_move_tasks),
    Action("sqs", "CancelMessageMoveTask", sqs.CancelMessageMoveTaskRequest, sqs.CancelMessageMoveTaskResult,
           move_tasks.cancel_message_move_task),
    Action("sns", "CreateTopic", sns.CreateTopicRequest, sns.CreateTopicResult, topics.create_topic),
    Action("sns", "DeleteTopic", sns.DeleteTopicRequest, None, topics.delete_topic),
    Action("sns", "ListTopics", sns.ListTopicsRequest, sns.ListTopicsResult, topics.list_topics),
    Action("sns", "GetTopicAttributes", sns.GetTopicAttributesRequest, sns.GetTopicAttributesResult,
           topics.get_topic_attributes),
    Action("sns", "SetTopicAttributes", sns.SetTopicAttributesRequest, None, topics.set_topic_attributes),
    Action("sns", "Subscribe", sns.SubscribeRequest, sns.SubscribeResult, subscriptions.subscribe),
    Action("sns", "ConfirmSubscription", sns.ConfirmSubscriptionRequest, sns.ConfirmSubscriptionResult,
           subscriptions.confirm_subscription),
    Action("sns", "Unsubscribe", sns.UnsubscribeRequest, None, subscriptions.unsubscribe),
    Action("sns", "ListSubscriptions", sns.ListSubscriptionsRequest, sns.ListSubscriptionsResult,
           subscriptions.list_subscriptions),
    Action("sns", "ListSubscriptionsByTopic", sns.ListSubscriptionsByTopicRequest, sns.ListSubscriptionsByTopicResult,
           subscriptions.list_subscriptions_by_topic),
    Action("sns", "GetSubscriptionAttributes", sns.GetSubscriptionAttributesRequest,
           sns.GetSubscriptionAttributesResult, subscriptions.get_subscription_attributes),
    Action("sns", "SetSubscriptionAttributes", sns.SetSubscriptionAttributesRequest, None,
           subscriptions.set_subscription_attributes),
    Action("sns", "Publish", sns.PublishRequest, sns.PublishResult, publishing.publish),
    Action("sns", "PublishBatch", sns.PublishBatchRequest, sns.PublishBatchResult, publishing.publish_batch),
    Action("sns", "AddPermission", sns.AddPermissionRequest, None, topic_permissions.add_permission),
    Action("sns", "RemovePermission", sns.RemovePermissionRequest, None, topic_permissions.remove_permission),
    Action("sns", "TagResource", sns.TagResourceRequest, sns.TagResourceResult, topics.tag_resource),
    Action("sns", "UntagResource", sns.UntagResourceRequest, sns.UntagResourceResult, topics.untag_resource),
    Action("sns", "ListTagsForResource", sns.ListTagsForResourceRequest, sns.ListTagsForResourceResult,
           topics.list_tags_for_resource),
    Action("sns", "GetDataProtectionPolicy", sns.GetDataProtectionPolicyRequest, sns.GetDataProtectionPolicyResult,
           topics.get_data_protection_policy),
    Action("sns", "PutDataProtectionPolicy", sns.PutDataProtectionPolicyRequest, None,
           topics.put_data_protection_policy),
    Action("sns", "CreatePlatformApplication", sns.CreatePlatformApplicationRequest,
           sns.CreatePlatformApplicationResult, platform_applications.create_platform_application),
    Action("sns", "DeletePlatformApplication", sns.DeletePlatformApplicationRequest, None,
           platform_applications.delete_platform_application),
    Action("sns", "GetPlatformApplicationAttributes", sns.GetPlatformApplicationAttributesRequest,
           sns.GetPlatformApplicationAttributesResult, platform_applications.get_platform_application_attributes),
    Action("sns", "ListPlatformApplications", sns.ListPlatformApplicationsRequest, sns.ListPlatformApplicationsResult,
           platform_applications.list_platform_applications),
    Action("sns", "SetPlatformApplicationAttributes", sns.SetPlatformApplicationAttributesRequest, None,
           platform_applications.set_platform_application_attributes),
    Action("sns", "CreatePlatformEndpoint", sns.CreatePlatformEndpointRequest, sns.CreatePlatformEndpointResult,
           platform_endpoints.create_platform_endpoint),
    Action("sns", "DeleteEndpoint", sns.DeleteEndpointRequest, None, platform_endpoints.delete_endpoint),
    Action("sns", "GetEndpointAttributes", sns.GetEndpointAttributesRequest, sns.GetEndpointAttributesResult,
           platform_endpoints.get_endpoint_attributes),
    Action("sns", "ListEndpointsByPlatformApplication", sns.ListEndpointsByPlatformApplicationRequest,
           sns.ListEndpointsByPlatformApplicationResult, platform_endpoints.list_endpoints_by_platform_application),
    Action("sns", "SetEndpointAttributes", sns.SetEndpointAttributesRequest, None,
           platform_endpoints.set_endpoint_attributes),
    Action("sns", "CheckIfPhoneNumberIsOptedOut", sns.CheckIfPhoneNumberIsOptedOutRequest,
           sns.CheckIfPhoneNumberIsOptedOutResult, sms_settings.check_if_phone_number_is_opted_out),
    Action("sns", "GetSMSAttributes", sns.GetSMSAttributesRequest, sns.GetSMSAttributesResult,
           sms_settings.get_sms_attributes),
    Action("sns", "ListOriginationNumbers", sns.ListOriginationNumbersRequest, sns.ListOriginationNumbersResult,
           sms_settings.list_origination_numbers),
    Action("sns", "ListPhoneNumbersOptedOut", sns.ListPhoneNumbersOptedOutRequest, sns.ListPhoneNumbersOptedOutResult,
           sms_settings.list_phone_numbers_opted_out),
    Action("sns", "OptInPhoneNumber", sns.OptInPhoneNumberRequest, sns.OptInPhoneNumberResult,
           sms_settings.opt_in_phone_number),
    Action("sns", "SetSMSAttributes", sns.SetSMSAttributesRequest, sns.SetSMSAttributesResult,
           sms_settings.set_sms_attributes),
    Action("sns", "CreateSMSSandboxPhoneNumber", sns.CreateSMSSandboxPhoneNumberRequest,
           sns.CreateSMSSandboxPhoneNumberResult, sms_sandbox.create_sms_sandbox_phone_number),
    Action("sns", "DeleteSMSSandboxPhoneNumber", sns.DeleteSMSSandboxPhoneNumberRequest,
           sns.DeleteSMSSandboxPhoneNumberResult, sms_sandbox.delete_sms_sandbox_phone_number),
    Action("sns", "GetSMSSandboxAccountStatus", sns.GetSMSSandboxAccountStatusRequest,
           sns.GetSMSSandboxAccountStatusResult, sms_sandbox.get_sms_sandbox_account_status),
    Action("sns", "ListSMSSandboxPhoneNumbers", sns.ListSMSSandboxPhoneNumbersRequest,
           sns.ListSMSSandboxPhoneNumbersResult, sms_sandbox.list_sms_sandbox_phone_numbers),
    Action("sns", "VerifySMSSandboxPhoneNumber", sns.VerifySMSSandboxPhoneNumberRequest,
           sns.VerifySMSSandboxPhoneNumberResult, sms_sandbox.verify_sms_sandbox_phone_number),
    Action("scheduler", "CreateSchedule", scheduler.CreateScheduleRequest, scheduler.CreateScheduleResult,
           scheduler_schedules.create_schedule, "POST /schedules/{Name}"),
    Action("scheduler", "GetSchedule", scheduler.GetScheduleRequest, scheduler.GetScheduleResult,
           scheduler_schedules.get_schedule, "GET /schedules/{Name}"),
    Action("scheduler", "UpdateSchedule", scheduler.UpdateScheduleRequest, scheduler.UpdateScheduleResult,
           scheduler_schedules.update_schedule, "PUT /schedules/{Name}"),
    Action("scheduler", "DeleteSchedule", scheduler.DeleteScheduleRequest, None, scheduler_schedules.delete_schedule,
           "DELETE /schedules/{Name}"),
    Action("scheduler", "ListSchedules", scheduler.ListSchedulesRequest, scheduler.ListSchedulesResult,
           scheduler_schedules.list_schedules, "GET /schedules"),
    Action("scheduler", "CreateScheduleGroup", scheduler.CreateScheduleGroupRequest,
           scheduler.CreateScheduleGroupResult, scheduler_groups.create_schedule_group,
           "POST /schedule-groups/{Name}"),
    Action("scheduler", "GetScheduleGroup", scheduler.GetScheduleGroupRequest, scheduler.GetScheduleGroupResult,
           scheduler_groups.get_schedule_group, "GET /schedule-groups/{Name}"),
    Action("scheduler", "DeleteScheduleGroup", scheduler.DeleteScheduleGroupRequest, None,
           scheduler_groups.delete_schedule_group, "DELETE /schedule-groups/{Name}"),
    Action("scheduler", "ListScheduleGroups", scheduler.ListScheduleGroupsRequest, scheduler.ListScheduleGroupsResult,
           scheduler_groups.list_schedule_groups, "GET /schedule-groups"),
    Action("scheduler", "TagResource", scheduler.TagResourceRequest, None, scheduler_groups.tag_resource,
           "POST /tags/{ResourceArn}"),
    Action("scheduler", "UntagResource", scheduler.UntagResourceRequest, None, scheduler_groups.untag_resource,
           "DELETE /tags/{ResourceArn}"),
    Action("scheduler", "ListTagsForResource", scheduler.ListTagsForResourceRequest,
           scheduler.ListTagsForResourceResult, scheduler_groups.list_tags_for_resource, "GET /tags/{ResourceArn}"),
)
# fmt: on

# What SDKs ask before they call the other services, by the Query protocol. They have no functions of their own.
STS_ACTIONS = (
    Action("sts", "GetCallerIdentity", sts.GetCallerIdentityRequest, sts.GetCallerIdentityResult,
           sts_credentials.get_caller_identity),
    Action("sts", "GetSessionToken", sts.GetSessionTokenRequest, sts.GetSessionTokenResult,
           sts_credentials.get_session_token),
    Action("sts", "AssumeRole", sts.AssumeRoleRequest, sts.AssumeRoleResult, sts_credentials.assume_role),
    Action("sts", "AssumeRoleWithWebIdentity", sts.AssumeRoleWithWebIdentityRequest,
           sts.AssumeRoleWithWebIdentityResult, sts_credentials.assume_role_with_web_identity),
)  # fmt: skip

# Event source mappings: the part of Lambda's API that is about queues. The container polls for them, so they have no
# functions of their own.
_MAPPINGS = "/2015-03-31/event-source-mappings"
MAPPING_ACTIONS = (
    Action("lambda", "CreateEventSourceMapping", mappings.CreateEventSourceMappingRequest,
           mappings.EventSourceMapping, mapping_operations.create_event_source_mapping, f"POST {_MAPPINGS}", 202),
    Action("lambda", "GetEventSourceMapping", mappings.GetEventSourceMappingRequest, mappings.EventSourceMapping,
           mapping_operations.get_event_source_mapping, f"GET {_MAPPINGS}/{{UUID}}"),
    Action("lambda", "ListEventSourceMappings", mappings.ListEventSourceMappingsRequest,
           mappings.ListEventSourceMappingsResult, mapping_operations.list_event_source_mappings, f"GET {_MAPPINGS}"),
    Action("lambda", "UpdateEventSourceMapping", mappings.UpdateEventSourceMappingRequest,
           mappings.EventSourceMapping, mapping_operations.update_event_source_mapping,
           f"PUT {_MAPPINGS}/{{UUID}}", 202),
    Action("lambda", "DeleteEventSourceMapping", mappings.DeleteEventSourceMappingRequest,
           mappings.EventSourceMapping, mapping_operations.delete_event_source_mapping,
           f"DELETE {_MAPPINGS}/{{UUID}}", 202),
    Action("lambda", "ListTags", mappings.ListTagsRequest, mappings.ListTagsResult, mapping_operations.list_tags,
           "GET /2017-03-31/tags/{Resource}"),
    Action("lambda", "TagResource", mappings.TagResourceRequest, None, mapping_operations.tag_resource,
           "POST /2017-03-31/tags/{Resource}", 204),
    Action("lambda", "UntagResource", mappings.UntagResourceRequest, None, mapping_operations.untag_resource,
           "DELETE /2017-03-31/tags/{Resource}", 204),
)  # fmt: skip

# What `/_aws/sqs/messages` does: no action of the service, but authorized and answered like ReceiveMessage.
PEEK = Action("sqs", "ReceiveMessage", sqs.PeekRequest, sqs.ReceiveMessageResult, peeking.peek_messages)

# Placeholder for the action of a request that is decoded only after its signature has been verified.
UNDECODED: AnyAction = Action("sqs", "(unread)", Struct, None, LazyOperation("", ""))

BY_NAME: dict[tuple[str, str], AnyAction] = {
    (action.service, action.name): action for action in (*ACTIONS, *STS_ACTIONS, *MAPPING_ACTIONS)
}
BY_TARGET: dict[bytes, AnyAction] = {
    f"{SERVICES[action.service].target_prefix}.{action.name}".encode(): action
    for action in ACTIONS
    if not action.route
}


def _route(text: str) -> tuple[str, str, bool]:
    """Method, kind of resource, and whether the path names one resource of that kind."""
    method, path = text.split()
    kind, label, _ = path.removeprefix("/").partition("/{")
    return method, kind, label != ""


BY_ROUTE: dict[tuple[str, str, bool], AnyAction] = {
    _route(action.route): action for action in (*ACTIONS, *MAPPING_ACTIONS) if action.route
}


def load_operations() -> None:
    """Imports the operations of all actions. A process that serves all of them calls it when it starts."""
    for action in (*ACTIONS, *STS_ACTIONS, *MAPPING_ACTIONS, PEEK):
        load_operation(action)


def load_operation(action: AnyAction) -> None:
    """Imports the operation of an action, which the row of the table names from then on."""
    if isinstance(action.operation, LazyOperation):
        force_setattr(action, "operation", action.operation.load())
