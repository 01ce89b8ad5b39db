"""Creates, lists, describes, changes, tags and deletes topics. Refuses data protection policies."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from penstock.access.audit.acts import Act, audited
from penstock.access.quotas import check_quota
from penstock.aws.fifo_name import is_fifo_name
from penstock.aws.sns_arn import TopicArn, is_topic_name
from penstock.calls import encode_jsonb
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.event_buses import LIST_EVENT_BUSES
from penstock.postgres.statements.sns.topics import (
    CHANGE_TOPIC,
    CREATE_TOPIC,
    DESCRIBE_TOPIC,
    DROP_TOPIC,
    LIST_TOPICS,
    TAG_TOPIC,
    UNTAG_TOPIC,
    TopicRow,
)
from penstock.sqs.validation import encode_text

from . import attributes as topic_attributes
from . import errors, paging
from . import types as sns
from .publishing.targets import read_topic_arn

PAGE = 100
NAME_RULE = (
    "A topic's name has 1 to 256 letters, digits, hyphens and underscores. The name of a FIFO topic, and no other, "
    "ends with .fifo."
)
"""The rule of a topic's name. Source: CreateTopic, API reference, member Name."""

_text = msgspec.json.Decoder(dict[str, str])
_TAG = re.compile(r"[\w\s.:/=+@-]*").fullmatch


@audited(
    lambda request, context: Act(
        "sns:CreateTopic",
        str(TopicArn(context.region, context.account_id, request.name)),
        {"attributes": request.attributes or {}},
    )
)
def create_topic(request: sns.CreateTopicRequest, context: Context) -> Operation[sns.CreateTopicResult]:
    """Creates a topic, or returns an existing topic that has every given attribute and tag."""
    attributes = topic_attributes.normalize_values(request.attributes or {})
    fifo = attributes.get("FifoTopic") == "true"
    if not is_topic_name(request.name) or is_fifo_name(request.name) != fifo:
        raise errors.InvalidParameter("Invalid parameter: Topic Name", NAME_RULE, member="Name")
    try:
        topic_attributes.check_topic_attributes(attributes, fifo)
        topic_attributes.check_key(attributes, context.environment.settings)
    except errors.InvalidParameter as refused:
        raise refused.within("Attributes") from refused
    if not fifo:
        attributes.pop("FifoTopic", None)  # the ARN repeats the name, also for an existing topic
    tags = check_tags(request.tags or ())
    if request.data_protection_policy:
        raise build_data_protection_error()
    yield from check_bus(attributes, TopicArn(context.region, context.account_id, request.name), context)
    yield from check_quota("topics", request.name, context, errors.TopicLimitExceeded)
    key = (context.account_id, context.region, request.name)
    (row,) = yield from Call(CREATE_TOPIC, (*key, encode_jsonb(attributes), encode_jsonb(tags), encode_jsonb(DEFAULTS)))
    if row.detail is not None:
        reason = f"Topic already exists with different {row.detail.lower()}"
        raise errors.InvalidParameter.named(row.detail, reason)
    return sns.CreateTopicResult(topic_arn=row.arn)


@audited(lambda request, _context: Act("sns:DeleteTopic", request.topic_arn))
def delete_topic(request: sns.DeleteTopicRequest, context: Context) -> Operation[None]:
    """Deletes a topic and its subscriptions. A missing topic is ignored. Raises InvalidState for a topic with an
    archive."""
    (row,) = yield from Call(DROP_TOPIC, (str(read_topic_arn(request.topic_arn, context)),))
    if row.error is not None:
        raise errors.InvalidState


def list_topics(request: sns.ListTopicsRequest, context: Context) -> Operation[sns.ListTopicsResult]:
    """Returns the account's topics, at most 100 on a page."""
    after = paging.read_token(request.next_token, is_topic_name)
    rows = yield from Call(LIST_TOPICS, (context.account_id, context.region, after, PAGE + 1))
    return sns.ListTopicsResult(
        topics=[sns.Topic(topic_arn=row.arn) for row in rows[:PAGE]],
        next_token=paging.build_token(rows[PAGE - 1].name) if len(rows) > PAGE else None,
    )


def get_topic_attributes(
    request: sns.GetTopicAttributesRequest, context: Context
) -> Operation[sns.GetTopicAttributesResult]:
    """Returns all attributes of a topic."""
    arn = read_topic_arn(request.topic_arn, context)
    topic = yield from describe_topic(arn)
    values = topic_attributes.show_topic(arn, read_stored_attributes(topic), topic)
    return sns.GetTopicAttributesResult(attributes=values)


@audited(
    lambda request, _context: Act(
        "sns:SetTopicAttributes", request.topic_arn, {"attribute": request.attribute_name}, when_changed=True
    )
)
def set_topic_attributes(request: sns.SetTopicAttributesRequest, context: Context) -> Operation[None]:
    """Changes one attribute. A missing or empty value removes the attribute."""
    arn = read_topic_arn(request.topic_arn, context)
    name = request.attribute_name
    value = topic_attributes.normalize_values({name: request.attribute_value or ""})[name]
    if not topic_attributes.is_topic_attribute(name):
        raise errors.InvalidParameter.named("AttributeName")
    topic_attributes.check_topic_attributes({name: value} if value else {name: DEFAULTS.get(name, "")}, arn.fifo)
    topic_attributes.check_key({name: value}, context.environment.settings)
    yield from check_bus({name: value}, arn, context)
    (row,) = yield from Call(CHANGE_TOPIC, (str(arn), encode_jsonb({name: value or None})))
    if row.error == "LargeMessages":
        raise errors.InvalidParameter.named(name, LARGE_MESSAGES)
    if row.error is not None:
        raise errors.NotFound


def check_bus(attributes: Mapping[str, str], topic: TopicArn, context: Context) -> Operation[None]:
    """Raises InvalidParameter unless the bus of the attribute PenstockBus exists, and AccessDenied unless the caller
    may publish on it, because every message of the topic is then also an event of the bus."""
    name = attributes.get(topic_attributes.BUS)
    if not name:
        return
    rows = yield from Call(LIST_EVENT_BUSES, (topic.account_id, topic.region, name, None, 1))
    if not rows or rows[0].bus["name"] != name:  # Of the names with this prefix, the name itself is the first.
        raise errors.InvalidParameter.named(
            f"{topic_attributes.BUS}: the account has no event bus of this name", member=topic_attributes.BUS
        )
    if context.user is not None:
        from penstock.access.authorization import authorize_one  # noqa: PLC0415 - only QUEUE_ACCESS=sigv4 needs it

        yield from authorize_one("events", "PutRawEvents", rows[0].bus["arn"], context)


# SetTopicAttributes has the same rule (API reference). The text is Penstock's.
LARGE_MESSAGES = "A topic with a MaximumMessageSize above 262144 has at most 100 subscriptions, all of the protocol sqs"

# The attributes that cannot be empty. When a request removes one of these attributes, Penstock validates the
# attribute's default instead. CreateTopic compares a given attribute with the default if the topic does not store the
# attribute.
DEFAULTS: Mapping[str, str] = {
    "TracingConfig": "PassThrough",
    "SignatureVersion": "1",
    "MaximumMessageSize": "262144",
    "ContentBasedDeduplication": "false",
    "FifoThroughputScope": "Topic",
} | {f"{protocol}SuccessFeedbackSampleRate": "0" for protocol in ("Application", "Firehose", "HTTP", "Lambda", "SQS")}


# --- tags ------------------------------------------------------------------------------------------------------------
@audited(
    lambda request, _context: Act(
        "sns:TagResource", request.resource_arn, {"keys": [tag.key for tag in request.tags]}, when_changed=True
    )
)
def tag_resource(request: sns.TagResourceRequest, context: Context) -> Operation[sns.TagResourceResult]:
    """Adds tags. An existing tag receives the new value."""
    arn = read_topic_arn(request.resource_arn, context, "ResourceArn")
    tags = check_tags(request.tags)
    (row,) = yield from Call(TAG_TOPIC, (str(arn), encode_jsonb(tags), topic_attributes.MAX_TAGS))
    raise_tag_error(row.error)
    return sns.TagResourceResult()


@audited(
    lambda request, _context: Act(
        "sns:UntagResource", request.resource_arn, {"keys": request.tag_keys}, when_changed=True
    )
)
def untag_resource(request: sns.UntagResourceRequest, context: Context) -> Operation[sns.UntagResourceResult]:
    """Removes tags. Missing tags are ignored."""
    arn = read_topic_arn(request.resource_arn, context, "ResourceArn")
    # No tag has a key with NUL, because PostgreSQL cannot store texts with NUL.
    if any(encode_text(key) is None for key in request.tag_keys):
        raise errors.InvalidParameter.named("TagKeys")
    (row,) = yield from Call(UNTAG_TOPIC, (str(arn), request.tag_keys))
    raise_tag_error(row.error)
    return sns.UntagResourceResult()


def list_tags_for_resource(
    request: sns.ListTagsForResourceRequest, context: Context
) -> Operation[sns.ListTagsForResourceResult]:
    """Returns all tags of a topic."""
    rows = yield from Call(DESCRIBE_TOPIC, (str(read_topic_arn(request.resource_arn, context, "ResourceArn")),))
    if not rows:
        raise errors.TopicResourceNotFound
    (topic,) = rows
    tags = _text.decode(topic.tags)
    return sns.ListTagsForResourceResult(tags=[sns.Tag(key=key, value=value) for key, value in tags.items()])


def check_tags(tags: Sequence[sns.Tag]) -> dict[str, str]:
    """Validates tags. A topic has at most 50 tags, with different keys of 1-128 characters and values of up to 256
    characters.

    Raises InvalidParameter, TagLimitExceeded.
    """
    for tag in tags:
        if not 1 <= len(tag.key) <= 128 or not _TAG(tag.key) or tag.key.lower().startswith("aws:"):
            raise errors.InvalidParameter.named("Tags", f"Tag key is not valid: {tag.key[:256]}")
        if len(tag.value) > 256 or not _TAG(tag.value):
            raise errors.InvalidParameter.named("Tags", f"Tag value is not valid: {tag.value[:512]}")
    found = {tag.key: tag.value for tag in tags}
    if len(found) < len(tags):
        raise errors.InvalidParameter.named("Duplicated keys are not allowed.", member="Tags")
    if len(found) > topic_attributes.MAX_TAGS:
        raise errors.TagLimitExceeded
    return found


def raise_tag_error(error: str | None) -> None:
    """Raises the error for a code that a SQL function returned."""
    if error is not None:
        raise errors.TagLimitExceeded if error == "TagLimitExceeded" else errors.TopicResourceNotFound


# --- data protection -------------------------------------------------------------------------------------------------
def get_data_protection_policy(
    request: sns.GetDataProtectionPolicyRequest, context: Context
) -> Operation[sns.GetDataProtectionPolicyResult]:
    """Returns an empty policy, because no topic has a data protection policy."""
    yield from describe_topic(read_topic_arn(request.resource_arn, context, "ResourceArn"))
    return sns.GetDataProtectionPolicyResult()


def put_data_protection_policy(request: sns.PutDataProtectionPolicyRequest, context: Context) -> Operation[None]:
    """Refuses the policy, as AWS does for new customers ("Message data protection availability change")."""
    yield from describe_topic(read_topic_arn(request.resource_arn, context, "ResourceArn"))
    raise build_data_protection_error()


def build_data_protection_error() -> errors.AuthorizationError:
    """Returns the error for data protection policies. The text is Penstock's."""
    return errors.AuthorizationError("Message data protection is not available to new customers.")


# --- the topic of a request ------------------------------------------------------------------------------------------
def describe_topic(arn: TopicArn) -> Operation[TopicRow]:
    """Returns the topic. Raises NotFound."""
    rows = yield from Call(DESCRIBE_TOPIC, (str(arn),))
    if not rows:
        raise errors.NotFound
    (topic,) = rows
    return topic


def read_stored_attributes(topic: TopicRow) -> dict[str, str]:
    """Returns the attributes in the form that the client sent."""
    return _text.decode(topic.attributes)
