"""Creates, confirms, lists, describes, changes and deletes subscriptions."""

import re
import secrets
from collections.abc import Callable, Mapping
from uuid import uuid4

import msgspec

from penstock.access.audit.acts import Act, audited
from penstock.access.deliveries import check_deliveries
from penstock.access.functions import find_function_refusal
from penstock.access.quotas import check_quota
from penstock.aws.arn import parse_queue_arn
from penstock.aws.fifo_name import is_fifo_name
from penstock.aws.function_arn import parse_function_arn
from penstock.aws.sns_arn import TopicArn, is_subscription_id, parse_endpoint_arn, parse_topic_of_subscription
from penstock.calls import encode_jsonb
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.endpoint import find_endpoint_problem, mask_password, split_password
from penstock.postgres.statements.sns.subscriptions import (
    ADD_SUBSCRIPTION,
    CONFIRM_SUBSCRIPTION,
    DESCRIBE_SUBSCRIPTION,
    DROP_SUBSCRIPTION,
    LIST_SUBSCRIPTIONS,
    SET_SUBSCRIPTION_ATTRIBUTES,
    ListedSubscriptionRow,
    SubscriptionRow,
)
from penstock.settings.mail_address import is_email_address
from penstock.sqs.validation import encode_text

from . import attributes as topic_attributes
from . import envelopes, errors, paging
from . import types as sns
from .archive_policies import build_archive_error, check_replaying_topic
from .delivery_policy import compute_effective_policy, show_policy
from .filter_policy.compile import NESTED, compile_topic_policy
from .mobile.platform_endpoints import check_platform_endpoint
from .publishing.targets import read_topic_arn
from .sms.phone_numbers import is_phone_number
from .topics import LARGE_MESSAGES, describe_topic

PAGE = 100
CONFIRMED_BY_ENDPOINT = frozenset(("http", "https", "email", "email-json"))
"""The protocols whose endpoints confirm a subscription. Other subscriptions are active at once (API reference)."""

PENDING = "pending confirmation"
PENDING_IN_LISTS = "PendingConfirmation"


DEFAULTS: Mapping[str, str] = {"RawMessageDelivery": "false", "FilterPolicyScope": "MessageAttributes"}
"""The values of attributes that a subscription does not store (SetSubscriptionAttributes, API reference)."""


class SubscriptionRedrivePolicy(msgspec.Struct):
    dead_letter_target_arn: str = msgspec.field(name="deadLetterTargetArn")


_text = msgspec.json.Decoder(dict[str, str])
_redrive_policy = msgspec.json.Decoder(SubscriptionRedrivePolicy)
_FUNCTION = re.compile(
    r"arn:aws:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_-]{1,140}(?::[A-Za-z0-9$_-]{1,128})?"
).fullmatch
_STREAM = re.compile(r"arn:aws:firehose:[a-z0-9-]+:[0-9]{12}:deliverystream/[A-Za-z0-9_.-]{1,64}").fullmatch
_ROLE = re.compile(r"arn:aws:iam::[0-9]{12}:role/[!-~]{1,576}").fullmatch  # Subscribe requires it
_TOKEN = re.compile(r"[0-9a-f]{160}").fullmatch
_TOKEN_OF_AWS = re.compile(r"[0-9a-f]{64,512}").fullmatch


@audited(
    lambda request, _context: Act(
        "sns:Subscribe",
        request.topic_arn,
        {
            "protocol": request.protocol,
            "endpoint": mask_password(request.endpoint or ""),
            "attributes": request.attributes or {},
        },
    )
)
def subscribe(request: sns.SubscribeRequest, context: Context) -> Operation[sns.SubscribeResult]:
    """Subscribes an endpoint. Subscriptions of URLs and e-mail addresses must be confirmed first; others are active
    at once."""
    topic = read_topic_arn(request.topic_arn, context)
    given = request.attributes or {}
    try:
        endpoint = check_endpoint(request.protocol, request.endpoint or "", topic, context)
        policy = check_attributes(given, request.protocol, endpoint, topic)
    except errors.InvalidParameter:
        yield from describe_topic(topic)  # AWS checks the topic first
        raise
    attributes = topic_attributes.normalize_values(given)
    if request.protocol == "application":
        yield from check_platform_endpoint(endpoint, context)
    endpoint, password = split_password(endpoint) if request.protocol in ("http", "https") else (endpoint, None)
    token = confirmation = None
    if request.protocol in CONFIRMED_BY_ENDPOINT:
        token = secrets.token_hex(80)  # AWS's tokens have 300 to 400 hex characters
        confirmation = yield from envelopes.build_confirmation(topic, token, context)
    yield from check_quota("subscriptions", None, context, errors.SubscriptionLimitExceeded)
    queues = list_dead_letter_queues(attributes) + ([endpoint] if request.protocol == "sqs" else [])
    while True:
        policies = yield from check_deliveries(queues, str(topic), context.account_id, context)
        (row,) = yield from Call(
            ADD_SUBSCRIPTION,
            (str(topic), uuid4(), context.account_id, request.protocol, endpoint, encode_jsonb(attributes), policy,
             token, confirmation, *build_limits(context), policies, context.caller_arn, encode_jsonb(DEFAULTS),
             password),
        )  # fmt: skip
        if row.error is None:
            break
        if row.error == "NoArchive":
            raise build_archive_error().within("Attributes")
        if row.error != "PolicyChanged":
            raise build_error(row.error)
    return sns.SubscribeResult(
        subscription_arn=row.arn if row.confirmed or request.return_subscription_arn else PENDING
    )


def build_error(code: str) -> errors.SnsError:
    """Returns the error for a code that SQL returned."""
    if code == "SubscriptionExists":
        return errors.InvalidParameter.named("Attributes", "Subscription already exists with different attributes")
    return {
        "FilterPolicyLimitExceeded": errors.FilterPolicyLimitExceeded(member="FilterPolicy"),
        "SubscriptionLimitExceeded": errors.SubscriptionLimitExceeded(),
        "LargeMessages": errors.InvalidParameter.named("TopicArn", LARGE_MESSAGES, member="Protocol"),
        "NoArchive": build_archive_error(),
    }.get(code, errors.NotFound())


@audited(lambda request, _context: Act("sns:ConfirmSubscription", request.topic_arn))
def confirm_subscription(
    request: sns.ConfirmSubscriptionRequest, context: Context
) -> Operation[sns.ConfirmSubscriptionResult]:
    """Confirms the subscription that the token belongs to. The attribute AuthenticateOnUnsubscribe needs a signed
    request."""
    topic = read_confirmed_topic(request.topic_arn, context)
    authenticates = (request.authenticate_on_unsubscribe or "").lower() == "true"
    if authenticates and is_anonymous(context):
        raise errors.AuthorizationError("AuthenticateOnUnsubscribe is for signed requests only.")
    if not _TOKEN_OF_AWS(request.token):
        raise errors.InvalidParameter("Invalid token", member="Token")
    # Penstock creates no token of another form, and SQL finds no subscription for an empty token.
    token = request.token if _TOKEN(request.token) else ""
    (row,) = yield from Call(CONFIRM_SUBSCRIPTION, (str(topic), token, authenticates))
    if row.error == "LargeMessages":
        raise build_error(row.error)
    if row.error is not None:  # AWS does not say whether the topic exists
        raise errors.InvalidParameter.named("Token")
    return sns.ConfirmSubscriptionResult(subscription_arn=row.arn)


def read_confirmed_topic(text: str, context: Context) -> TopicArn:
    """Returns the topic of a ConfirmSubscription. An unsigned caller receives a less specific error (recorded at
    AWS)."""
    try:
        return read_topic_arn(text, context)
    except errors.InvalidParameter as error:
        raise errors.InvalidParameter.named("Topic") if is_anonymous(context) else error from error


@audited(lambda request, _context: Act("sns:Unsubscribe", request.subscription_arn or ""))
def unsubscribe(request: sns.UnsubscribeRequest, context: Context) -> Operation[None]:
    """Deletes a subscription. A missing subscription is ignored. A URL receives a message with a link that confirms the
    subscription again."""
    arn = request.subscription_arn
    if arn is None:
        raise errors.InvalidParameter.named("SubscriptionArn", "no value for required parameter")
    topic = find_topic(arn, context)
    rows = yield from Call(DESCRIBE_SUBSCRIPTION, (arn,))
    if not rows:
        return
    (subscription,) = rows
    text = None
    if subscription.protocol in CONFIRMED_BY_ENDPOINT:
        try:
            text = yield from envelopes.unsubscribe_confirmation(topic, arn, secrets.token_hex(80), context)
        except errors.NotFound:  # another request has just deleted the topic with its subscriptions
            return
    (row,) = yield from Call(DROP_SUBSCRIPTION, (arn, is_anonymous(context), text))
    if row.error == "AuthorizationError":
        raise errors.AuthorizationError("This subscription can be ended by signed requests only.")


def is_anonymous(context: Context) -> bool:
    """Returns whether the request is unsigned, like a request to a message's UnsubscribeURL."""
    http = context.http
    return b"authorization" not in http.headers and b"X-Amz-Credential=" not in http.query


# --- lists -----------------------------------------------------------------------------------------------------------
def list_subscriptions(
    request: sns.ListSubscriptionsRequest, context: Context
) -> Operation[sns.ListSubscriptionsResult]:
    """Returns the account's subscriptions, at most 100 on a page."""
    found, token = yield from read_page(None, request.next_token, context)
    return sns.ListSubscriptionsResult(subscriptions=found, next_token=token)


def list_subscriptions_by_topic(
    request: sns.ListSubscriptionsByTopicRequest, context: Context
) -> Operation[sns.ListSubscriptionsByTopicResult]:
    """Returns a topic's subscriptions, at most 100 on a page."""
    topic = read_topic_arn(request.topic_arn, context)
    found, token = yield from read_page(str(topic), request.next_token, context)
    if not found:
        yield from describe_topic(topic)
    return sns.ListSubscriptionsByTopicResult(subscriptions=found, next_token=token)


def read_page(
    topic: str | None, token: str | None, context: Context
) -> Operation[tuple[list[sns.Subscription], str | None]]:
    """Returns one page, and the token of the next page."""
    after = paging.read_token(token, is_subscription_id)
    rows = yield from Call(LIST_SUBSCRIPTIONS, (context.account_id, context.region, topic, after, PAGE + 1))
    more = paging.build_token(rows[PAGE - 1].subscription_id) if len(rows) > PAGE else None
    return [list_entry(row) for row in rows[:PAGE]], more


def list_entry(row: ListedSubscriptionRow) -> sns.Subscription:
    """Returns a subscription in the format of lists."""
    return sns.Subscription(
        subscription_arn=row.arn if row.confirmed else PENDING_IN_LISTS,
        owner=row.owner,
        protocol=row.protocol,
        endpoint=row.endpoint,
        topic_arn=row.topic_arn,
    )


# --- attributes ------------------------------------------------------------------------------------------------------
def get_subscription_attributes(
    request: sns.GetSubscriptionAttributesRequest, context: Context
) -> Operation[sns.GetSubscriptionAttributesResult]:
    """Returns all attributes of a subscription."""
    found = yield from describe_subscription(request.subscription_arn, context)
    return sns.GetSubscriptionAttributesResult(attributes=show_subscription(request.subscription_arn, found))


@audited(
    lambda request, _context: Act(
        "sns:SetSubscriptionAttributes",
        request.subscription_arn,
        {"attribute": request.attribute_name},
        when_changed=True,
    )
)
def set_subscription_attributes(request: sns.SetSubscriptionAttributesRequest, context: Context) -> Operation[None]:
    """Changes one attribute. A missing or empty value removes the attribute."""
    name, given = request.attribute_name, request.attribute_value
    if name in NEEDS_VALUE and given is None:
        given = "null"  # like AWS's response
    yield from replace_attributes(request.subscription_arn, {name: given or ""}, context)


def replace_attributes(arn: str, given: Mapping[str, str], context: Context) -> Operation[None]:
    """Replaces attributes of a subscription in one transaction. An empty value removes an attribute."""
    values = topic_attributes.normalize_values(given)
    error: str | None = "Changed"
    while error == "Changed":
        found = yield from describe_subscription(arn, context)
        topic_attributes.check_subscription_attributes(given, found.protocol)
        topic = find_topic(arn, context)
        check_dead_letter_type(values, found.protocol, found.endpoint, topic)
        check_replaying_topic(values, topic)
        stored = _text.decode(found.attributes)
        changed = {key: text for key, text in {**stored, **values}.items() if text}
        new = encode_jsonb({name: value or None for name, value in values.items()})
        queues = list_dead_letter_queues(values)
        policies = yield from check_deliveries(queues, found.topic_arn, found.owner, context)
        (row,) = yield from Call(
            SET_SUBSCRIPTION_ATTRIBUTES,
            (arn, found.attributes, new, compile_changed_filter(changed), *build_limits(context), policies),
        )
        error = row.error
    if error in ("FilterPolicyLimitExceeded", "NoArchive"):
        raise build_error(error)
    if error is not None:
        raise errors.NotFound("Subscription does not exist")


def list_dead_letter_queues(attributes: Mapping[str, str]) -> list[str]:
    """Returns the queue's ARN in a valid RedrivePolicy, if any."""
    text = attributes.get("RedrivePolicy")
    return [_redrive_policy.decode(text).dead_letter_target_arn] if text else []


def check_dead_letter_type(attributes: Mapping[str, str], protocol: str, endpoint: str, topic: TopicArn) -> None:
    """Raises InvalidParameter for a dead-letter queue that would lose the order of a FIFO queue."""
    is_ordered = protocol == "sqs" and topic.fifo and is_fifo_name(endpoint)
    if is_ordered and not all(map(is_fifo_name, list_dead_letter_queues(attributes))):
        raise errors.InvalidParameter.named(
            "RedrivePolicy: must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic.",
            member="RedrivePolicy",
        )


def build_limits(context: Context) -> tuple[int, int]:
    """Returns the maximum numbers of filter policies for a topic and for an account."""
    settings = context.environment.settings
    return settings.sns_topic_filter_policies, settings.sns_account_filter_policies


NEEDS_VALUE = frozenset(("RawMessageDelivery", "FilterPolicyScope"))


def show_subscription(arn: str, row: SubscriptionRow) -> dict[str, str]:
    """Returns a subscription in the format of GetSubscriptionAttributes."""
    stored = {name: value for name, value in _text.decode(row.attributes).items() if value}
    values = {
        "SubscriptionArn": arn,
        "TopicArn": row.topic_arn,
        "Owner": row.owner,
        "Protocol": row.protocol,
        "Endpoint": row.endpoint,
        "PendingConfirmation": str(not row.confirmed).lower(),
        "ConfirmationWasAuthenticated": str(row.authenticated or row.protocol not in CONFIRMED_BY_ENDPOINT).lower(),
        "RawMessageDelivery": "false",
        "SubscriptionPrincipal": row.principal or f"arn:aws:iam::{row.owner}:root",
    }
    if stored.get("FilterPolicy"):
        values["FilterPolicyScope"] = "MessageAttributes"
    else:
        stored.pop("FilterPolicyScope", None)
    if stored.get("DeliveryPolicy"):
        stored["DeliveryPolicy"] = show_policy(stored["DeliveryPolicy"])
    if row.protocol in ("http", "https"):
        policy = compute_effective_policy(stored.get("DeliveryPolicy"), row.topic_delivery_policy)
        values["EffectiveDeliveryPolicy"] = encode_jsonb(policy)
    if row.replay_status is not None:
        values["ReplayStatus"] = row.replay_status
    return values | stored


def describe_subscription(arn: str, context: Context) -> Operation[SubscriptionRow]:
    """Returns the subscription. Raises InvalidParameter, NotFound."""
    find_topic(arn, context)
    rows = yield from Call(DESCRIBE_SUBSCRIPTION, (arn,))
    if not rows:
        raise errors.NotFound("Subscription does not exist")
    (found,) = rows
    return found


# --- endpoints -------------------------------------------------------------------------------------------------------
ENDPOINTS: Mapping[str, tuple[Callable[[str], object], str]] = {
    "email": (is_email_address, "Invalid parameter: Email address"),
    "email-json": (is_email_address, "Invalid parameter: Email address"),
    "sms": (is_phone_number, "Invalid SMS endpoint: {}"),
    "application": (parse_endpoint_arn, "Invalid parameter: Application endpoint arn invalid: {}"),
    "lambda": (_FUNCTION, "Invalid parameter: Lambda endpoint ARN"),
    "firehose": (_STREAM, "Invalid parameter: Firehose endpoint ARN"),
}
"""The form of endpoints by protocol, and the error text for endpoints of another form. The text for `sms` is AWS's; the
other texts are Penstock's.
"""

# AWS writes the prefix twice (recorded at AWS).
FIFO_QUEUE = (
    "Invalid parameter: Invalid parameter: Endpoint Reason: "
    "FIFO SQS Queues can not be subscribed to standard SNS topics"
)


# --- checks ----------------------------------------------------------------------------------------------------------
def check_attributes(attributes: Mapping[str, str], protocol: str, endpoint: str, topic: TopicArn) -> str | None:
    """Compiles the filter policy of a new subscription. Errors name the map `Attributes`, which contains the policy."""
    try:
        topic_attributes.check_subscription_attributes(attributes, protocol)
        check_dead_letter_type(attributes, protocol, endpoint, topic)
        check_replaying_topic(topic_attributes.normalize_values(attributes), topic)
        if protocol == "firehose" and not _ROLE(attributes.get("SubscriptionRoleArn", "")):
            raise errors.InvalidParameter.named(
                "SubscriptionRoleArn: the ARN of a role is required", member="SubscriptionRoleArn"
            )
        return compile_filter(attributes)
    except errors.InvalidParameter as error:
        raise error.within("Attributes") from error


def find_topic(arn: str, context: Context) -> TopicArn:
    """Returns the topic of a subscription's ARN. Raises InvalidParameter with AWS's texts."""
    topic = parse_topic_of_subscription(arn)
    if topic is not None and topic.region == context.region:
        return topic
    if arn.count(":") < 5:
        reason = f"An ARN must have at least 6 elements, not {arn.count(':') + 1}"
        raise errors.InvalidParameter.named("SubscriptionArn", reason)
    is_ours = arn.startswith(f"arn:aws:sns:{context.region}:")
    raise errors.InvalidParameter.named("SubscriptionId" if is_ours else "SubscriptionArn")


def check_endpoint(protocol: str, endpoint: str, topic: TopicArn, context: Context) -> str:
    """Raises InvalidParameter unless the endpoint fits its protocol. A queue can be in another region."""
    if protocol == "sqs":
        queue = parse_queue_arn(endpoint)
        if queue is None or not context.environment.settings.serves(queue.region):
            raise errors.InvalidParameter.named("SQS endpoint ARN", member="Endpoint")
        if is_fifo_name(endpoint) and not topic.fifo:
            raise errors.InvalidParameter(FIFO_QUEUE, member="Endpoint")
    elif protocol not in ("http", "https", *ENDPOINTS):
        raise errors.InvalidParameter.named(
            f"Amazon SNS does not support this protocol string: {protocol[:64]}", member="Protocol"
        )
    elif topic.fifo:
        raise errors.InvalidParameter.named("Invalid protocol type: " + protocol, member="Protocol")
    elif protocol in ENDPOINTS:
        is_valid, refusal = ENDPOINTS[protocol]
        if encode_text(endpoint) is None or not is_valid(endpoint):
            raise errors.InvalidParameter(refusal.format(endpoint[:64]), member="Endpoint")
        check_function(protocol, endpoint, context)
    else:
        check_url(protocol, endpoint)
    return endpoint


def check_function(protocol: str, endpoint: str, context: Context) -> None:
    """Raises InvalidParameter for a function that must not be invoked, unless the installation only stores messages."""
    settings = context.environment.settings
    if protocol == "lambda" and settings.queue_lambda_endpoint:
        function = parse_function_arn(endpoint)
        refusal = find_function_refusal(function, endpoint, context.account_id, context.region, settings)
        if refusal is not None:
            raise errors.InvalidParameter.named(f"Endpoint: {refusal}", member="Endpoint")


def check_url(protocol: str, endpoint: str) -> None:
    """Raises InvalidParameter for a text that is not a URL of the protocol."""
    if not endpoint.startswith(f"{protocol}://"):
        raise errors.InvalidParameter.named("Endpoint must match the specified protocol", member="Endpoint")
    if find_endpoint_problem(endpoint, takes_credentials=True) is not None:
        raise errors.InvalidParameter.named("Endpoint")


def compile_changed_filter(attributes: Mapping[str, str]) -> str | None:
    """Compiles like `compile_filter`. One error text of SetSubscriptionAttributes does not name the attribute, as on
    AWS."""
    try:
        return compile_filter(attributes)
    except errors.InvalidParameter as error:
        is_nested = error.message.endswith(NESTED)
        raise errors.InvalidParameter.named(NESTED, member="FilterPolicy") if is_nested else error from error


def compile_filter(attributes: Mapping[str, str]) -> str | None:
    """Returns the filter policy in the form that SQL evaluates. Raises InvalidParameter."""
    policy = attributes.get("FilterPolicy")
    return compile_topic_policy(policy, attributes.get("FilterPolicyScope", "MessageAttributes")) if policy else None
