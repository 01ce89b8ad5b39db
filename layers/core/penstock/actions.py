"""The table of actions: each action of each service, its request and result types, and its operation.

`make generate` reads ACTIONS and writes the entry points in `functions/`, the functions in `template.yaml`, the load
balancer's rules and the alarms. The gateway also reads the table, and tests compare the documentation with the table.
An action whose result type is None has a response without a body.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr

from .aws.codec.protocol import MAPPINGS
from .context import Context
from .effects import Operation
from .errors import AwsError
from .event_sources import types as mappings
from .event_sources.checks import polls_mappings
from .event_sources.errors import as_lambda_error
from .events import types as events
from .events.errors import as_events_error
from .http import HttpRequest
from .scheduler import types as scheduler
from .scheduler.errors import as_scheduler_error
from .settings import Settings
from .sns import types as sns
from .sns.errors import as_sns_error
from .sqs import types as sqs
from .sts import types as sts

RequestT = TypeVar("RequestT", bound=Struct)
ResultT = TypeVar("ResultT", bound=Struct | None)


class LazyFunction:
    """Names a function by its path. The first call imports the module.

    A Lambda function that serves one action therefore does not import other operations. The process imports access
    rules only if QUEUE_ACCESS needs the rules.
    """

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> "LazyFunction":
        return LazyFunction(f"{self._path}.{name}")

    def __call__(self, request: Any, context: Context) -> Any:
        return self.load()(request, context)

    def load(self) -> Callable[[Any, Context], Any]:
        module, _, name = self._path.rpartition(".")
        function: Callable[[Any, Context], Any] = getattr(import_module(module), name)
        return function


if TYPE_CHECKING:  # mypy checks that a row's functions exist and accept the row's request
    import penstock.event_sources.operations
    import penstock.events.buses
    import penstock.events.policies
    import penstock.events.publishing
    import penstock.events.resources
    import penstock.events.sources
    import penstock.events.subscribers
    import penstock.moves.actions
    import penstock.scheduler.groups
    import penstock.scheduler.schedules
    import penstock.sns.mobile.platform_applications
    import penstock.sns.mobile.platform_endpoints
    import penstock.sns.permissions
    import penstock.sns.publishing.publish
    import penstock.sns.sms.sandbox
    import penstock.sns.sms.settings
    import penstock.sns.subscriptions
    import penstock.sns.topics
    import penstock.sqs.delete
    import penstock.sqs.peek
    import penstock.sqs.permissions
    import penstock.sqs.queues
    import penstock.sqs.receive
    import penstock.sqs.send
    import penstock.sqs.tags
    import penstock.sqs.visibility
    import penstock.sts.credentials

    from .access import resources
    from .access.resources import Uses
    from .event_sources import uses as mapping_uses
    from .events import uses as event_uses
    from .scheduler import uses as schedule_uses
    from .sns import uses as sns_uses
    from .sqs import uses as sqs_uses
else:
    penstock = LazyFunction("penstock")
    resources = penstock.access.resources
    mapping_uses, schedule_uses = penstock.event_sources.uses, penstock.scheduler.uses
    event_uses, sns_uses, sqs_uses = penstock.events.uses, penstock.sns.uses, penstock.sqs.uses


def keep_error(error: AwsError) -> AwsError:
    """Returns the error unchanged, for services that use the error names of `penstock.errors`."""
    return error


def is_always_served(_http: HttpRequest, _settings: Settings) -> bool:
    """Returns True, for services that every deployment serves."""
    return True


class Service(Struct, frozen=True):
    """Describes how a service's protocol differs from the protocols of other services.

    `shape_name` is the name of the service's shape in AWS's Smithy model, or empty for a service without CBOR.
    `target_prefix` is the prefix of `X-Amz-Target`. `xml_namespace` is the namespace of XML responses. `version` is the
    `Version` parameter. A REST-JSON service has no prefix and no XML namespace, because its actions have routes. Event
    buses also have neither, because their only protocol is CBOR.
    """

    name: str
    shape_name: str
    target_prefix: str
    xml_namespace: str
    version: str
    convert_error: Callable[[AwsError], AwsError] = keep_error
    """Converts a common error to the service's error."""
    has_validation_error: bool = True
    """Whether a missing or too long member causes the service's ValidationError. SQS has other errors, and the
    operations of SQS check lengths."""
    is_served: Callable[[HttpRequest, Settings], bool] = is_always_served
    """Returns whether this deployment serves the service."""
    namespace: str = ""
    """The last part of the namespace in AWS's Smithy model, if it is not the service's name."""

    @property
    def has_query(self) -> bool:
        """Returns whether clients can use the Query protocol, whose responses are XML."""
        return self.xml_namespace != ""


class Action(Struct, Generic[RequestT, ResultT], frozen=True, eq=False):
    """A row of the table. `name` is AWS's spelling.

    `resources` lists the resources that QUEUE_ACCESS=sigv4 checks before the operation runs. `route` is the method and
    path of a REST-JSON action. `status` is the response's status.
    """

    service: str
    name: str
    request: type[RequestT]
    result: type[ResultT] | None
    operation: Callable[[RequestT, Context], Operation[ResultT]]
    resources: "Callable[[RequestT, Context], Uses]"
    route: str = ""
    status: int = 200
    label: str = ""
    """The action's name in policies, such as sqs:SendMessage. `service` and `name` determine the value."""

    def __post_init__(self) -> None:
        force_setattr(self, "label", f"{self.service}:{self.name}")


AnyAction: TypeAlias = Action[Struct, Struct | None]
"""An action whose request and result types are not known statically."""

# fmt: off
SERVICES = {
    "sqs": Service("sqs", "AmazonSQS", "AmazonSQS", "http://queue.amazonaws.com/doc/2012-11-05/",
                   "2012-11-05", has_validation_error=False),
    "sns": Service("sns", "AmazonSimpleNotificationService", "AmazonSNS", "http://sns.amazonaws.com/doc/2010-03-31/",
                   "2010-03-31", as_sns_error),
    "scheduler": Service("scheduler", "AWSChronosService", "", "", "2021-06-30", as_scheduler_error),
    "lambda": Service("lambda", "", "", "", "2015-03-31", as_lambda_error, is_served=polls_mappings),
    "events": Service("events", "AWSEventsV2", "", "", "2025-05-15", as_events_error, namespace="eventbridgev2"),
    "sts": Service("sts", "AWSSecurityTokenServiceV20110615", "", "https://sts.amazonaws.com/doc/2011-06-15/",
                   "2011-06-15"),
}

ACTIONS: tuple[Action[Any, Any], ...] = (
    Action("sqs", "CreateQueue", sqs.CreateQueueRequest, sqs.CreateQueueResult, penstock.sqs.queues.create_queue,
           sqs_uses.use_new_queue),
    Action("sqs", "DeleteQueue", sqs.DeleteQueueRequest, None, penstock.sqs.queues.delete_queue, sqs_uses.use_queue),
    Action("sqs", "GetQueueUrl", sqs.GetQueueUrlRequest, sqs.GetQueueUrlResult, penstock.sqs.queues.get_queue_url,
           sqs_uses.use_queue_of_owner),
    Action("sqs", "ListQueues", sqs.ListQueuesRequest, sqs.ListQueuesResult, penstock.sqs.queues.list_queues,
           resources.use_account),
    Action("sqs", "GetQueueAttributes", sqs.GetQueueAttributesRequest, sqs.GetQueueAttributesResult,
           penstock.sqs.queues.get_queue_attributes, sqs_uses.use_queue),
    Action("sqs", "SetQueueAttributes", sqs.SetQueueAttributesRequest, None, penstock.sqs.queues.set_queue_attributes,
           sqs_uses.use_queue),
    Action("sqs", "PurgeQueue", sqs.PurgeQueueRequest, None, penstock.sqs.queues.purge_queue, sqs_uses.use_queue),
    Action("sqs", "SendMessage", sqs.SendMessageRequest, sqs.SendMessageResult, penstock.sqs.send.send_message,
           sqs_uses.use_queue),
    Action("sqs", "SendMessageBatch", sqs.SendMessageBatchRequest, sqs.SendMessageBatchResult,
           penstock.sqs.send.send_message_batch, sqs_uses.use_queue),
    Action("sqs", "ReceiveMessage", sqs.ReceiveMessageRequest, sqs.ReceiveMessageResult,
           penstock.sqs.receive.receive_message, sqs_uses.use_queue),
    Action("sqs", "DeleteMessage", sqs.DeleteMessageRequest, None, penstock.sqs.delete.delete_message,
           sqs_uses.use_queue),
    Action("sqs", "DeleteMessageBatch", sqs.DeleteMessageBatchRequest, sqs.DeleteMessageBatchResult,
           penstock.sqs.delete.delete_message_batch, sqs_uses.use_queue),
    Action("sqs", "ChangeMessageVisibility", sqs.ChangeMessageVisibilityRequest, None,
           penstock.sqs.visibility.change_message_visibility, sqs_uses.use_queue),
    Action("sqs", "ChangeMessageVisibilityBatch", sqs.ChangeMessageVisibilityBatchRequest,
           sqs.ChangeMessageVisibilityBatchResult, penstock.sqs.visibility.change_message_visibility_batch,
           sqs_uses.use_queue),
    Action("sqs", "TagQueue", sqs.TagQueueRequest, None, penstock.sqs.tags.tag_queue, sqs_uses.use_queue),
    Action("sqs", "UntagQueue", sqs.UntagQueueRequest, None, penstock.sqs.tags.untag_queue, sqs_uses.use_queue),
    Action("sqs", "ListQueueTags", sqs.ListQueueTagsRequest, sqs.ListQueueTagsResult,
           penstock.sqs.tags.list_queue_tags, sqs_uses.use_queue),
    Action("sqs", "AddPermission", sqs.AddPermissionRequest, None, penstock.sqs.permissions.add_permission,
           sqs_uses.use_queue),
    Action("sqs", "RemovePermission", sqs.RemovePermissionRequest, None, penstock.sqs.permissions.remove_permission,
           sqs_uses.use_queue),
    Action("sqs", "ListDeadLetterSourceQueues", sqs.ListDeadLetterSourceQueuesRequest,
           sqs.ListDeadLetterSourceQueuesResult, penstock.sqs.queues.list_dead_letter_source_queues,
           sqs_uses.use_queue),
    Action("sqs", "StartMessageMoveTask", sqs.StartMessageMoveTaskRequest, sqs.StartMessageMoveTaskResult,
           penstock.moves.actions.start_message_move_task, sqs_uses.use_source_and_destination),
    Action("sqs", "ListMessageMoveTasks", sqs.ListMessageMoveTasksRequest, sqs.ListMessageMoveTasksResult,
           penstock.moves.actions.list_message_move_tasks, sqs_uses.use_source),
    Action("sqs", "CancelMessageMoveTask", sqs.CancelMessageMoveTaskRequest, sqs.CancelMessageMoveTaskResult,
           penstock.moves.actions.cancel_message_move_task, sqs_uses.use_source_of_task),
    Action("sns", "CreateTopic", sns.CreateTopicRequest, sns.CreateTopicResult, penstock.sns.topics.create_topic,
           sns_uses.use_new_topic),
    Action("sns", "DeleteTopic", sns.DeleteTopicRequest, None, penstock.sns.topics.delete_topic, sns_uses.use_topic),
    Action("sns", "ListTopics", sns.ListTopicsRequest, sns.ListTopicsResult, penstock.sns.topics.list_topics,
           resources.use_account),
    Action("sns", "GetTopicAttributes", sns.GetTopicAttributesRequest, sns.GetTopicAttributesResult,
           penstock.sns.topics.get_topic_attributes, sns_uses.use_topic),
    Action("sns", "SetTopicAttributes", sns.SetTopicAttributesRequest, None, penstock.sns.topics.set_topic_attributes,
           sns_uses.use_topic),
    Action("sns", "Subscribe", sns.SubscribeRequest, sns.SubscribeResult, penstock.sns.subscriptions.subscribe,
           sns_uses.use_subscribed_topic),
    Action("sns", "ConfirmSubscription", sns.ConfirmSubscriptionRequest, sns.ConfirmSubscriptionResult,
           penstock.sns.subscriptions.confirm_subscription, sns_uses.use_topic),
    Action("sns", "Unsubscribe", sns.UnsubscribeRequest, None, penstock.sns.subscriptions.unsubscribe,
           sns_uses.use_subscription),
    Action("sns", "ListSubscriptions", sns.ListSubscriptionsRequest, sns.ListSubscriptionsResult,
           penstock.sns.subscriptions.list_subscriptions, resources.use_account),
    Action("sns", "ListSubscriptionsByTopic", sns.ListSubscriptionsByTopicRequest, sns.ListSubscriptionsByTopicResult,
           penstock.sns.subscriptions.list_subscriptions_by_topic, sns_uses.use_topic),
    Action("sns", "GetSubscriptionAttributes", sns.GetSubscriptionAttributesRequest,
           sns.GetSubscriptionAttributesResult, penstock.sns.subscriptions.get_subscription_attributes,
           sns_uses.use_subscription),
    Action("sns", "SetSubscriptionAttributes", sns.SetSubscriptionAttributesRequest, None,
           penstock.sns.subscriptions.set_subscription_attributes, sns_uses.use_changed_subscription),
    Action("sns", "Publish", sns.PublishRequest, sns.PublishResult, penstock.sns.publishing.publish.publish,
           sns_uses.use_publication_target),
    Action("sns", "PublishBatch", sns.PublishBatchRequest, sns.PublishBatchResult,
           penstock.sns.publishing.publish.publish_batch, sns_uses.use_topic),
    Action("sns", "AddPermission", sns.AddPermissionRequest, None, penstock.sns.permissions.add_permission,
           sns_uses.use_topic),
    Action("sns", "RemovePermission", sns.RemovePermissionRequest, None, penstock.sns.permissions.remove_permission,
           sns_uses.use_topic),
    Action("sns", "TagResource", sns.TagResourceRequest, sns.TagResourceResult, penstock.sns.topics.tag_resource,
           sns_uses.use_tagged_topic),
    Action("sns", "UntagResource", sns.UntagResourceRequest, sns.UntagResourceResult,
           penstock.sns.topics.untag_resource, sns_uses.use_tagged_topic),
    Action("sns", "ListTagsForResource", sns.ListTagsForResourceRequest, sns.ListTagsForResourceResult,
           penstock.sns.topics.list_tags_for_resource, sns_uses.use_tagged_topic),
    Action("sns", "GetDataProtectionPolicy", sns.GetDataProtectionPolicyRequest, sns.GetDataProtectionPolicyResult,
           penstock.sns.topics.get_data_protection_policy, sns_uses.use_tagged_topic),
    Action("sns", "PutDataProtectionPolicy", sns.PutDataProtectionPolicyRequest, None,
           penstock.sns.topics.put_data_protection_policy, sns_uses.use_tagged_topic),
    Action("sns", "CreatePlatformApplication", sns.CreatePlatformApplicationRequest,
           sns.CreatePlatformApplicationResult, penstock.sns.mobile.platform_applications.create_platform_application,
           sns_uses.use_new_application),
    Action("sns", "DeletePlatformApplication", sns.DeletePlatformApplicationRequest, None,
           penstock.sns.mobile.platform_applications.delete_platform_application, sns_uses.use_application),
    Action("sns", "GetPlatformApplicationAttributes", sns.GetPlatformApplicationAttributesRequest,
           sns.GetPlatformApplicationAttributesResult,
           penstock.sns.mobile.platform_applications.get_platform_application_attributes, sns_uses.use_application),
    Action("sns", "ListPlatformApplications", sns.ListPlatformApplicationsRequest, sns.ListPlatformApplicationsResult,
           penstock.sns.mobile.platform_applications.list_platform_applications, resources.use_account),
    Action("sns", "SetPlatformApplicationAttributes", sns.SetPlatformApplicationAttributesRequest, None,
           penstock.sns.mobile.platform_applications.set_platform_application_attributes, sns_uses.use_application),
    Action("sns", "CreatePlatformEndpoint", sns.CreatePlatformEndpointRequest, sns.CreatePlatformEndpointResult,
           penstock.sns.mobile.platform_endpoints.create_platform_endpoint, sns_uses.use_application),
    Action("sns", "DeleteEndpoint", sns.DeleteEndpointRequest, None,
           penstock.sns.mobile.platform_endpoints.delete_endpoint, sns_uses.use_endpoint),
    Action("sns", "GetEndpointAttributes", sns.GetEndpointAttributesRequest, sns.GetEndpointAttributesResult,
           penstock.sns.mobile.platform_endpoints.get_endpoint_attributes, sns_uses.use_endpoint),
    Action("sns", "ListEndpointsByPlatformApplication", sns.ListEndpointsByPlatformApplicationRequest,
           sns.ListEndpointsByPlatformApplicationResult,
           penstock.sns.mobile.platform_endpoints.list_endpoints_by_platform_application, sns_uses.use_application),
    Action("sns", "SetEndpointAttributes", sns.SetEndpointAttributesRequest, None,
           penstock.sns.mobile.platform_endpoints.set_endpoint_attributes, sns_uses.use_endpoint),
    Action("sns", "CheckIfPhoneNumberIsOptedOut", sns.CheckIfPhoneNumberIsOptedOutRequest,
           sns.CheckIfPhoneNumberIsOptedOutResult, penstock.sns.sms.settings.check_if_phone_number_is_opted_out,
           resources.use_account),
    Action("sns", "GetSMSAttributes", sns.GetSMSAttributesRequest, sns.GetSMSAttributesResult,
           penstock.sns.sms.settings.get_sms_attributes, resources.use_account),
    Action("sns", "ListOriginationNumbers", sns.ListOriginationNumbersRequest, sns.ListOriginationNumbersResult,
           penstock.sns.sms.settings.list_origination_numbers, resources.use_account),
    Action("sns", "ListPhoneNumbersOptedOut", sns.ListPhoneNumbersOptedOutRequest, sns.ListPhoneNumbersOptedOutResult,
           penstock.sns.sms.settings.list_phone_numbers_opted_out, resources.use_account),
    Action("sns", "OptInPhoneNumber", sns.OptInPhoneNumberRequest, sns.OptInPhoneNumberResult,
           penstock.sns.sms.settings.opt_in_phone_number, resources.use_account),
    Action("sns", "SetSMSAttributes", sns.SetSMSAttributesRequest, sns.SetSMSAttributesResult,
           penstock.sns.sms.settings.set_sms_attributes, resources.use_account),
    Action("sns", "CreateSMSSandboxPhoneNumber", sns.CreateSMSSandboxPhoneNumberRequest,
           sns.CreateSMSSandboxPhoneNumberResult, penstock.sns.sms.sandbox.create_sms_sandbox_phone_number,
           sns_uses.use_phone),
    Action("sns", "DeleteSMSSandboxPhoneNumber", sns.DeleteSMSSandboxPhoneNumberRequest,
           sns.DeleteSMSSandboxPhoneNumberResult, penstock.sns.sms.sandbox.delete_sms_sandbox_phone_number,
           resources.use_account),
    Action("sns", "GetSMSSandboxAccountStatus", sns.GetSMSSandboxAccountStatusRequest,
           sns.GetSMSSandboxAccountStatusResult, penstock.sns.sms.sandbox.get_sms_sandbox_account_status,
           resources.use_account),
    Action("sns", "ListSMSSandboxPhoneNumbers", sns.ListSMSSandboxPhoneNumbersRequest,
           sns.ListSMSSandboxPhoneNumbersResult, penstock.sns.sms.sandbox.list_sms_sandbox_phone_numbers,
           resources.use_account),
    Action("sns", "VerifySMSSandboxPhoneNumber", sns.VerifySMSSandboxPhoneNumberRequest,
           sns.VerifySMSSandboxPhoneNumberResult, penstock.sns.sms.sandbox.verify_sms_sandbox_phone_number,
           resources.use_account),
    Action("scheduler", "CreateSchedule", scheduler.CreateScheduleRequest, scheduler.CreateScheduleResult,
           penstock.scheduler.schedules.create_schedule, schedule_uses.use_schedule_and_target,
           "POST /schedules/{Name}"),
    Action("scheduler", "GetSchedule", scheduler.GetScheduleRequest, scheduler.GetScheduleResult,
           penstock.scheduler.schedules.get_schedule, schedule_uses.use_schedule, "GET /schedules/{Name}"),
    Action("scheduler", "UpdateSchedule", scheduler.UpdateScheduleRequest, scheduler.UpdateScheduleResult,
           penstock.scheduler.schedules.update_schedule, schedule_uses.use_schedule_and_target,
           "PUT /schedules/{Name}"),
    Action("scheduler", "DeleteSchedule", scheduler.DeleteScheduleRequest, None,
           penstock.scheduler.schedules.delete_schedule, schedule_uses.use_schedule, "DELETE /schedules/{Name}"),
    Action("scheduler", "ListSchedules", scheduler.ListSchedulesRequest, scheduler.ListSchedulesResult,
           penstock.scheduler.schedules.list_schedules, schedule_uses.use_schedules, "GET /schedules"),
    Action("scheduler", "CreateScheduleGroup", scheduler.CreateScheduleGroupRequest,
           scheduler.CreateScheduleGroupResult, penstock.scheduler.groups.create_schedule_group,
           schedule_uses.use_group, "POST /schedule-groups/{Name}"),
    Action("scheduler", "GetScheduleGroup", scheduler.GetScheduleGroupRequest, scheduler.GetScheduleGroupResult,
           penstock.scheduler.groups.get_schedule_group, schedule_uses.use_group, "GET /schedule-groups/{Name}"),
    Action("scheduler", "DeleteScheduleGroup", scheduler.DeleteScheduleGroupRequest, None,
           penstock.scheduler.groups.delete_schedule_group, schedule_uses.use_group, "DELETE /schedule-groups/{Name}"),
    Action("scheduler", "ListScheduleGroups", scheduler.ListScheduleGroupsRequest, scheduler.ListScheduleGroupsResult,
           penstock.scheduler.groups.list_schedule_groups, schedule_uses.use_groups, "GET /schedule-groups"),
    Action("scheduler", "TagResource", scheduler.TagResourceRequest, None, penstock.scheduler.groups.tag_resource,
           schedule_uses.use_tagged_group, "POST /tags/{ResourceArn}"),
    Action("scheduler", "UntagResource", scheduler.UntagResourceRequest, None,
           penstock.scheduler.groups.untag_resource, schedule_uses.use_tagged_group, "DELETE /tags/{ResourceArn}"),
    Action("scheduler", "ListTagsForResource", scheduler.ListTagsForResourceRequest,
           scheduler.ListTagsForResourceResult, penstock.scheduler.groups.list_tags_for_resource,
           schedule_uses.use_tagged_group, "GET /tags/{ResourceArn}"),
    Action("events", "CreateEventBus", events.CreateEventBusRequest, events.CreateEventBusResult,
           penstock.events.buses.create_event_bus, event_uses.use_new_event_bus),
    Action("events", "DescribeEventBus", events.DescribeEventBusRequest, events.DescribeEventBusResult,
           penstock.events.buses.describe_event_bus, event_uses.use_event_bus),
    Action("events", "UpdateEventBus", events.UpdateEventBusRequest, events.UpdateEventBusResult,
           penstock.events.buses.update_event_bus, event_uses.use_event_bus),
    Action("events", "DeleteEventBus", events.DeleteEventBusRequest, None, penstock.events.buses.delete_event_bus,
           event_uses.use_event_bus),
    Action("events", "ListEventBuses", events.ListEventBusesRequest, events.ListEventBusesResult,
           penstock.events.buses.list_event_buses, resources.use_account),
    Action("events", "CreateSubscriber", events.CreateSubscriberRequest, events.CreateSubscriberResult,
           penstock.events.subscribers.create_subscriber, event_uses.use_new_subscriber),
    Action("events", "DescribeSubscriber", events.DescribeSubscriberRequest, events.DescribeSubscriberResult,
           penstock.events.subscribers.describe_subscriber, event_uses.use_subscriber),
    Action("events", "UpdateSubscriber", events.UpdateSubscriberRequest, events.UpdateSubscriberResult,
           penstock.events.subscribers.update_subscriber, event_uses.use_subscriber),
    Action("events", "DeleteSubscriber", events.DeleteSubscriberRequest, None,
           penstock.events.subscribers.delete_subscriber, event_uses.use_subscriber),
    Action("events", "ListSubscribers", events.ListSubscribersRequest, events.ListSubscribersResult,
           penstock.events.subscribers.list_subscribers, event_uses.use_listed_bus),
    Action("events", "CreateEventSource", events.CreateEventSourceRequest, events.CreateEventSourceResult,
           penstock.events.sources.create_event_source, event_uses.use_new_event_source),
    Action("events", "DescribeEventSource", events.DescribeEventSourceRequest, events.DescribeEventSourceResult,
           penstock.events.sources.describe_event_source, event_uses.use_event_source),
    Action("events", "UpdateEventSource", events.UpdateEventSourceRequest, events.UpdateEventSourceResult,
           penstock.events.sources.update_event_source, event_uses.use_event_source),
    Action("events", "DeleteEventSource", events.DeleteEventSourceRequest, None,
           penstock.events.sources.delete_event_source, event_uses.use_event_source),
    Action("events", "ListEventSources", events.ListEventSourcesRequest, events.ListEventSourcesResult,
           penstock.events.sources.list_event_sources, event_uses.use_listed_bus),
    Action("events", "RotateWebhookCredentials", events.RotateWebhookCredentialsRequest,
           events.RotateWebhookCredentialsResult, penstock.events.sources.rotate_webhook_credentials,
           event_uses.use_event_source),
    Action("events", "PutEvents", events.PutEventsRequest, events.PutEventsResult,
           penstock.events.publishing.put_events, event_uses.use_put_events),
    Action("events", "PutRawEvents", events.PutRawEventsRequest, events.PutEventsResult,
           penstock.events.publishing.put_raw_events, event_uses.use_put_raw_events),
    Action("events", "PutResourcePolicy", events.PutResourcePolicyRequest, events.PutResourcePolicyResult,
           penstock.events.policies.put_resource_policy, event_uses.use_event_resource),
    Action("events", "GetResourcePolicy", events.GetResourcePolicyRequest, events.GetResourcePolicyResult,
           penstock.events.policies.get_resource_policy, event_uses.use_event_resource),
    Action("events", "DeleteResourcePolicy", events.DeleteResourcePolicyRequest, events.DeleteResourcePolicyResult,
           penstock.events.policies.delete_resource_policy, event_uses.use_event_resource),
    Action("events", "ListResourcePolicies", events.ListResourcePoliciesRequest, events.ListResourcePoliciesResult,
           penstock.events.policies.list_resource_policies, event_uses.use_event_resource),
    Action("events", "RevokeResource", events.RevokeResourceRequest, events.RevokeResourceResult,
           penstock.events.resources.revoke_resource, event_uses.use_revoked_resource),
    Action("events", "TagResource", events.TagResourceRequest, None, penstock.events.resources.tag_resource,
           event_uses.use_event_resource),
    Action("events", "UntagResource", events.UntagResourceRequest, None, penstock.events.resources.untag_resource,
           event_uses.use_event_resource),
    Action("events", "ListTagsForResource", events.ListTagsForResourceRequest, events.ListTagsForResourceResult,
           penstock.events.resources.list_tags_for_resource, event_uses.use_event_resource),
)
# fmt: on

# SDKs send the actions of STS with the Query protocol before they call other services. `make generate` writes no
# functions for STS.
STS_ACTIONS = (
    Action("sts", "GetCallerIdentity", sts.GetCallerIdentityRequest, sts.GetCallerIdentityResult,
           penstock.sts.credentials.get_caller_identity, resources.use_nothing),
    Action("sts", "GetSessionToken", sts.GetSessionTokenRequest, sts.GetSessionTokenResult,
           penstock.sts.credentials.get_session_token, resources.refuse_tokens),
    Action("sts", "AssumeRole", sts.AssumeRoleRequest, sts.AssumeRoleResult, penstock.sts.credentials.assume_role,
           resources.refuse_tokens),
    Action("sts", "AssumeRoleWithWebIdentity", sts.AssumeRoleWithWebIdentityRequest,
           sts.AssumeRoleWithWebIdentityResult, penstock.sts.credentials.assume_role_with_web_identity,
           resources.refuse_tokens),
)  # fmt: skip

# The part of Lambda's API that manages event source mappings. Only the container serves the actions of mappings, so
# `make generate` writes no functions for these actions.
MAPPING_ACTIONS = (
    Action("lambda", "CreateEventSourceMapping", mappings.CreateEventSourceMappingRequest, mappings.EventSourceMapping,
           penstock.event_sources.operations.create_event_source_mapping, mapping_uses.use_mappings,
           f"POST /{MAPPINGS}", 202),
    Action("lambda", "GetEventSourceMapping", mappings.GetEventSourceMappingRequest, mappings.EventSourceMapping,
           penstock.event_sources.operations.get_event_source_mapping, mapping_uses.use_mapping,
           f"GET /{MAPPINGS}/{{UUID}}"),
    Action("lambda", "ListEventSourceMappings", mappings.ListEventSourceMappingsRequest,
           mappings.ListEventSourceMappingsResult, penstock.event_sources.operations.list_event_source_mappings,
           mapping_uses.use_mappings, f"GET /{MAPPINGS}"),
    Action("lambda", "UpdateEventSourceMapping", mappings.UpdateEventSourceMappingRequest, mappings.EventSourceMapping,
           penstock.event_sources.operations.update_event_source_mapping, mapping_uses.use_mapping,
           f"PUT /{MAPPINGS}/{{UUID}}", 202),
    Action("lambda", "DeleteEventSourceMapping", mappings.DeleteEventSourceMappingRequest, mappings.EventSourceMapping,
           penstock.event_sources.operations.delete_event_source_mapping, mapping_uses.use_mapping,
           f"DELETE /{MAPPINGS}/{{UUID}}", 202),
    Action("lambda", "ListTags", mappings.ListTagsRequest, mappings.ListTagsResult,
           penstock.event_sources.operations.list_tags, mapping_uses.use_tagged_mapping,
           "GET /2017-03-31/tags/{Resource}"),
    Action("lambda", "TagResource", mappings.TagResourceRequest, None, penstock.event_sources.operations.tag_resource,
           mapping_uses.use_tagged_mapping, "POST /2017-03-31/tags/{Resource}", 204),
    Action("lambda", "UntagResource", mappings.UntagResourceRequest, None,
           penstock.event_sources.operations.untag_resource, mapping_uses.use_tagged_mapping,
           "DELETE /2017-03-31/tags/{Resource}", 204),
)  # fmt: skip

# The action of `/_aws/sqs/messages`, which SQS does not have. Penstock authorizes and encodes the action like
# ReceiveMessage.
PEEK = Action("sqs", "ReceiveMessage", sqs.PeekRequest, sqs.ReceiveMessageResult, penstock.sqs.peek.peek_messages,
              sqs_uses.use_queue)  # fmt: skip

# A placeholder for the action until the signature is verified and the request is decoded.
UNDECODED: AnyAction = Action("sqs", "(unread)", Struct, None, LazyFunction(""), LazyFunction(""))

BY_NAME: dict[tuple[str, str], AnyAction] = {
    (action.service, action.name): action for action in (*ACTIONS, *STS_ACTIONS, *MAPPING_ACTIONS)
}
BY_TARGET: dict[bytes, AnyAction] = {
    f"{SERVICES[action.service].target_prefix}.{action.name}".encode(): action
    for action in ACTIONS
    if SERVICES[action.service].target_prefix
}


SERVICE_OF_SHAPE = {
    f"{namespace}{name}": service.name
    for service in SERVICES.values()
    for name in {service.shape_name, service.target_prefix} - {""}
    for namespace in ("", f"com.amazonaws.{service.namespace or service.name}.")
}
"""The service of each name that a path of rpc-v2-cbor can contain."""


def _route(text: str) -> tuple[str, str, bool]:
    """Returns the method, the resource kind, and whether the path names one resource."""
    method, path = text.split()
    kind, label, _ = path.removeprefix("/").partition("/{")
    return method, kind, label != ""


BY_ROUTE: dict[tuple[str, str, bool], AnyAction] = {
    _route(action.route): action for action in (*ACTIONS, *MAPPING_ACTIONS) if action.route
}


REST_SERVICES = {kind: action.service for (_, kind, _), action in BY_ROUTE.items()}
"""The service of each resource kind in REST-JSON paths."""


def load_operations() -> None:
    """Imports all operations. A process that serves all actions calls this function at its start."""
    for action in (*ACTIONS, *STS_ACTIONS, *MAPPING_ACTIONS, PEEK):
        load_operation(action)


def load_operation(action: AnyAction) -> None:
    """Imports the action's operation and stores it in the action's row."""
    if isinstance(action.operation, LazyFunction):
        force_setattr(action, "operation", action.operation.load())
