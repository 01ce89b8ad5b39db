"""The attributes of queues: names, values and defaults, and the attributes that a request selects.

Penstock stores the strings that the client sent, because Terraform and other tools wait until they read the same values
back. Booleans are stored in lower case: AWS also accepts `True`, which Python's `str` returns. Redrive policies are
stored as AWS shows them, with a number as maxReceiveCount and without null as sourceQueueArns. Sources: CreateQueue,
SetQueueAttributes and GetQueueAttributes (SQS API reference), and docs/reference/compatibility.md for the limits.
`archive`, `archive_seconds`, `history` and `paused` are not attributes of AWS; only the REST API accepts them. AWS's
actions also accept the attributes in PENSTOCK.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from penstock.access.policy.checks import MAX_BRACKETS, SQS_RULES, PolicyProblem, find_policy_problem
from penstock.aws.arn import parse_queue_arn
from penstock.aws.json_text import decode_json
from penstock.errors import (
    KMS_KEYS_REFUSED,
    AwsError,
    InvalidAttributeName,
    InvalidAttributeValue,
    InvalidParameterValue,
    OverLimit,
    UnsupportedOperation,
)
from penstock.limits import queue_limits

from .validation import encode_text

if TYPE_CHECKING:
    from penstock.settings import Settings

V = TypeVar("V")
Check = Callable[[str], bool]

# The maximum size of a policy in bytes (Developer Guide, "Amazon SQS policy quotas"). The values of all other
# attributes are shorter.
MAX_VALUE_LENGTH = 8_192

_INTEGER = re.compile(r"[0-9]{1,10}").fullmatch


def _limit_range(low: int, high: int) -> Check:
    return lambda value: _INTEGER(value) is not None and low <= int(value) <= high


def _accept_only(*values: str) -> Check:
    return lambda value: value in values


def _accept_any_value(_value: str) -> bool:
    return True


def _is_boolean(value: str) -> bool:
    return value.lower() in ("true", "false")


STANDARD: Mapping[str, Check] = {
    "DelaySeconds": _limit_range(0, queue_limits.MAX_DELAY_SECONDS),
    "MaximumMessageSize": _limit_range(queue_limits.MIN_MESSAGE_BYTES, queue_limits.MAX_MESSAGE_BYTES),
    "MessageRetentionPeriod": _limit_range(queue_limits.MIN_RETENTION_SECONDS, queue_limits.MAX_RETENTION_SECONDS),
    "ReceiveMessageWaitTimeSeconds": _limit_range(0, queue_limits.MAX_WAIT_SECONDS),
    "VisibilityTimeout": _limit_range(0, queue_limits.MAX_VISIBILITY_SECONDS),
    "Policy": _accept_any_value,  # check_policy raises other errors
    "RedrivePolicy": _accept_any_value,  # parse_redrive_policy raises other errors
    "RedriveAllowPolicy": _accept_any_value,  # parse_redrive_allow_policy raises other errors
    "KmsMasterKeyId": _accept_any_value,
    "KmsDataKeyReusePeriodSeconds": _limit_range(60, 86_400),
    "SqsManagedSseEnabled": _is_boolean,
}
FIFO: Mapping[str, Check] = {
    "FifoQueue": lambda value: value.lower() == "true",
    "ContentBasedDeduplication": _is_boolean,
    "DeduplicationScope": _accept_only("messageGroup", "queue"),
    "FifoThroughputLimit": _accept_only("perQueue", "perMessageGroupId"),
}
PENSTOCK: Mapping[str, Check] = {
    "PenstockTrace": _is_boolean,
}
"""Penstock's attributes of CreateQueue and SetQueueAttributes, with the prefix `Penstock`. GetQueueAttributes shows
them only by name and never for `All`, because Terraform would remove an attribute that its configuration does not
name."""
EXTENSIONS: Mapping[str, Check] = {
    **PENSTOCK,
    "archive": _is_boolean,
    "archive_seconds": _limit_range(1, 315_360_000),
    "history": _is_boolean,
    "paused": _is_boolean,
}
DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "DelaySeconds": "0",
        "MaximumMessageSize": str(queue_limits.MAX_MESSAGE_BYTES),
        "MessageRetentionPeriod": "345600",
        "ReceiveMessageWaitTimeSeconds": "0",
        "SqsManagedSseEnabled": "true",
    }
)
"""The defaults of AWS, in seconds and bytes. The default of VisibilityTimeout is a setting."""
FIFO_DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "ContentBasedDeduplication": "false",
        "DeduplicationScope": "queue",
        "FifoThroughputLimit": "perQueue",
    }
)
NO_VALUES: Mapping[str, str] = MappingProxyType({})
DEFAULT_KEY_REUSE_SECONDS = "300"
COUNTS = frozenset(
    ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed", "ApproximateNumberOfMessagesNotVisible")
)
READ_ONLY = COUNTS | {"CreatedTimestamp", "LastModifiedTimestamp", "QueueArn"}
READABLE = frozenset(STANDARD) | frozenset(FIFO) | frozenset(PENSTOCK) | READ_ONLY
MESSAGE_SYSTEM = frozenset(
    (
        "SenderId",
        "SentTimestamp",
        "ApproximateReceiveCount",
        "ApproximateFirstReceiveTimestamp",
        "SequenceNumber",
        "MessageDeduplicationId",
        "MessageGroupId",
        "AWSTraceHeader",
        "DeadLetterQueueSourceArn",
    )
)


# --- writing ---------------------------------------------------------------------------------------------------------
def check_queue_attributes(
    attributes: Mapping[str, str], fifo: bool, *, creating: bool = False, extensions: bool = False
) -> dict[str, str]:
    """Validates attributes of CreateQueue (`creating`) or SetQueueAttributes. Returns the attributes in the stored
    format.

    SetQueueAttributes accepts `FifoQueue=true` for a FIFO queue, but this changes nothing. Raises InvalidAttributeName
    for an attribute that does not exist, cannot be written or is not for this type of queue. Raises
    InvalidAttributeValue for a value out of range, and InvalidParameterValue for an invalid redrive policy.
    """
    known = {**STANDARD, **(FIFO if fifo else {}), **(EXTENSIONS if extensions else PENSTOCK)}
    for name, value in attributes.items():
        if name not in known:
            raise build_fifo_error(name) if _is_for_fifo(name, creating) else build_unknown_error(name)
        if name == "FifoQueue" and value.lower() == "false" and not creating:
            raise build_value_error(name, "Modifying queue type is not supported.")
        data = None if len(value) > MAX_VALUE_LENGTH else encode_text(value)
        if data is None or len(data) > MAX_VALUE_LENGTH or not known[name](value):
            raise build_value_error(name)
    _check_combinations(attributes, fifo, creating)
    return {
        name: _format_value(name, value, known[name])
        for name, value in attributes.items()
        if creating or name != "FifoQueue"
    }


def _format_value(name: str, value: str, check: Check) -> str:
    """Returns a validated value in its stored format."""
    if check is _is_boolean or name == "FifoQueue":
        return value.lower()
    return _format_redrive_policy(value) if name in ("RedrivePolicy", "RedriveAllowPolicy") else value


def _format_redrive_policy(text: str) -> str:
    """Returns a validated redrive policy in AWS's format: the count is a number, and null members are absent.

    A policy that already has this form keeps its spelling.
    """
    policy = _decode_json(text) or {}
    shown = {name: value for name, value in policy.items() if value is not None}
    if "maxReceiveCount" in shown:
        shown["maxReceiveCount"] = int(shown["maxReceiveCount"])
    return text if shown == policy else msgspec.json.encode(shown).decode()


def _is_for_fifo(name: str, creating: bool) -> bool:
    """Returns whether AWS's error for this attribute on a standard queue mentions FIFO queues.

    The error does not mention them for FifoQueue and, when a queue is created, for ContentBasedDeduplication (reports
    of users).
    """
    unknown = {"FifoQueue", "ContentBasedDeduplication"} if creating else {"FifoQueue"}
    return name in FIFO and name not in unknown


def check_key(attributes: Mapping[str, str], settings: "Settings") -> None:
    """Raises UnsupportedOperation for a KMS key if QUEUE_REFUSE_KMS is on."""
    if settings.queue_refuse_kms and attributes.get("KmsMasterKeyId"):
        raise UnsupportedOperation(KMS_KEYS_REFUSED)


def build_defaults(fifo: bool, settings: "Settings", supplied: Mapping[str, str] = NO_VALUES) -> dict[str, str]:
    """Returns the defaults of a new queue's attributes."""
    values = {**DEFAULTS, "VisibilityTimeout": str(settings.queue_default_visibility_timeout)}
    if supplied.get("KmsMasterKeyId"):
        values["SqsManagedSseEnabled"] = "false"
        values["KmsDataKeyReusePeriodSeconds"] = DEFAULT_KEY_REUSE_SECONDS
    if fifo:
        values |= {"FifoQueue": "true", **FIFO_DEFAULTS}
    return values


def add_implied(values: Mapping[str, str]) -> dict[str, str]:
    """Returns the attributes to set and the attributes that they imply. A queue has one kind of encryption at a time.

    A KMS key turns SSE-SQS off, and SSE-SQS removes the key. Removing the key also removes the reuse period. Source:
    Terraform's AWS provider, whose acceptance tests (TestAccSQSQueue_encryption) run against AWS.
    """
    if values.get("KmsMasterKeyId"):
        return {"SqsManagedSseEnabled": "false", **values}
    if "KmsMasterKeyId" in values or values.get("SqsManagedSseEnabled") == "true":
        return {"KmsMasterKeyId": "", "KmsDataKeyReusePeriodSeconds": "", **values}
    return dict(values)


def show_attributes(stored: Mapping[str, str], named: Iterable[str] = ()) -> dict[str, str]:
    """Returns a queue's attributes in the format of GetQueueAttributes. The reuse period appears only if the queue
    has a KMS key. Penstock's attributes appear only if the request has `named` them."""
    hidden = EXTENSIONS.keys() - set(named)
    values = {name: value for name, value in stored.items() if name not in hidden}
    if "KmsMasterKeyId" in values:
        values.setdefault("KmsDataKeyReusePeriodSeconds", DEFAULT_KEY_REUSE_SECONDS)
    else:
        values.pop("KmsDataKeyReusePeriodSeconds", None)
    return values


def build_unknown_error(name: str) -> AwsError:
    """Returns the error for a name that is not an attribute of this queue."""
    return InvalidAttributeName(f"Unknown Attribute {name}.", member=name)


def build_fifo_error(name: str) -> AwsError:
    """Returns the error for an attribute of FIFO queues on a standard queue."""
    return InvalidAttributeName(f"You can specify the {name} only when FifoQueue is set to true.", member=name)


def build_value_error(name: str, reason: str = "") -> AwsError:
    """Returns the error for an invalid value, with AWS's reason if AWS gives one."""
    text = f"Invalid value for the parameter {name}." + (f" Reason: {reason}" if reason else "")
    return InvalidAttributeValue(text, member=name)


def build_scope_error() -> AwsError:
    """Returns the error for `perMessageGroupId` without its scope, with the API reference's text."""
    return build_value_error(
        "FifoThroughputLimit",
        "The perMessageGroupId value is allowed only when the value for DeduplicationScope is messageGroup.",
    )


def _check_combinations(attributes: Mapping[str, str], fifo: bool, creating: bool) -> None:
    if attributes.get("KmsMasterKeyId") and attributes.get("SqsManagedSseEnabled", "").lower() == "true":
        raise InvalidAttributeName(
            "You can use one type of server-side encryption (SSE) at one time. "
            "You can either enable KMS SSE or SQS SSE."
        )
    # queue.set_queue_attributes also checks the current attributes of an existing queue.
    scope = attributes.get("DeduplicationScope", "queue" if creating else "messageGroup")
    if attributes.get("FifoThroughputLimit") == "perMessageGroupId" and scope != "messageGroup":
        raise build_scope_error()
    if attributes.get("Policy"):
        check_policy(attributes["Policy"])
    if "RedrivePolicy" in attributes:
        parse_redrive_policy(attributes["RedrivePolicy"], fifo)
    if "RedriveAllowPolicy" in attributes:
        parse_redrive_allow_policy(attributes["RedriveAllowPolicy"])


# --- policies ------------------------------------------------------------------------------------------------
def check_policy(text: str) -> None:
    """Raises InvalidAttributeValue, InvalidParameterValue or OverLimit for an access policy that SQS refuses.

    The texts for an action (cloudtools/awacs, issue 34) and for too many actions
    (ministryofjustice/cloud-platform-environments, issue 9082) are AWS's.
    """
    match find_policy_problem(text, SQS_RULES):
        case None:
            return
        case PolicyProblem("action", action):
            raise InvalidParameterValue(
                f"Value {action} for parameter ActionName is invalid. "
                "Reason: Please refer to the appropriate WSDL for a list of valid actions."
            )
        case PolicyProblem("actions", number):
            raise OverLimit(
                f"{number} actions were found in a statement from the submitted policy, "
                f"max allowed is {SQS_RULES.most_actions}"
            )
        case PolicyProblem("statements", number):
            raise OverLimit(
                f"{number} statements were found in the submitted policy, max allowed is {SQS_RULES.most_statements}"
            )
        case _:
            raise build_value_error("Policy")


class RedrivePolicy(msgspec.Struct, frozen=True):
    """A redrive policy. After `maximum_receive_count` receives (1-1000) a message moves to the queue with this ARN."""

    dead_letter_target_arn: str
    maximum_receive_count: int

    def shares_account_and_region(self, source_arn: str) -> bool:
        """Returns whether source and target have the same account and region, as AWS requires."""
        target, source = parse_queue_arn(self.dead_letter_target_arn), parse_queue_arn(source_arn)
        return target is not None and source is not None and target[:2] == source[:2]


class RedriveAllowPolicy(msgspec.Struct, frozen=True):
    """Says which queues can use this queue as their dead-letter queue: `allowAll`, `denyAll` or `byQueue`."""

    permission: str
    source_queue_arns: tuple[str, ...]

    def permits(self, source_arn: str) -> bool:
        """Returns whether the queue `source_arn` can use this queue as its dead-letter queue."""
        return self.permission == "allowAll" or source_arn in self.source_queue_arns


def parse_redrive_policy(text: str, fifo: bool) -> RedrivePolicy | None:
    """Returns the policy, or None for an empty string, which removes the policy. Raises InvalidParameterValue."""
    if text == "":
        return None
    policy = _decode_json(text)
    if not isinstance(policy, dict) or _is_name_repeated(text):
        raise build_policy_error("RedrivePolicy", text, "Redrive policy is not a valid JSON map.")
    for name in ("maxReceiveCount", "deadLetterTargetArn"):
        if name not in policy:
            reason = f"Redrive policy does not contain mandatory attribute: {name}."
            raise build_policy_error("RedrivePolicy", text, reason)
    if len(policy) > 2:
        reason = "Only following attributes are supported: [deadLetterTargetArn, maxReceiveCount]."
        raise build_policy_error("RedrivePolicy", text, reason)
    count, arn = (
        value if isinstance(value, str) else json.dumps(value)
        for value in (policy["maxReceiveCount"], policy["deadLetterTargetArn"])
    )
    if not _limit_range(1, 1_000)(count):
        reason = f"Invalid value for maxReceiveCount: {count}, valid values are from 1 to 1000 both inclusive."
        raise build_policy_error("RedrivePolicy", text, reason)
    _check_target(arn, fifo, text)
    return RedrivePolicy(arn, int(count))


def _is_name_repeated(text: str) -> bool:
    """Returns whether a name occurs twice. PostgreSQL would also parse the earlier value, which could fail."""
    pairs = json.loads(text, object_pairs_hook=list)
    return len(dict(pairs)) < len(pairs)


def _check_target(arn: str, fifo: bool, text: str) -> None:
    target = parse_queue_arn(arn)
    if target is None:
        raise build_policy_error("RedrivePolicy", text, "Invalid value for deadLetterTargetArn.")
    if target.fifo != fifo:
        raise build_policy_error("RedrivePolicy", text, "Dead-letter queue must be same type of queue as the source.")


def parse_redrive_allow_policy(text: str) -> RedriveAllowPolicy | None:
    """Parses the policy. Returns None for an empty string, which removes the policy. Only `byQueue` has sources, up to
    10.

    AWS treats `"sourceQueueArns":null` as absent (terraform-provider-aws, issue 42453).
    """
    if text == "":
        return None
    policy = _decode_json(text)
    if not isinstance(policy, dict) or not policy.keys() <= {"redrivePermission", "sourceQueueArns"}:
        raise _build_allow_policy_error(text)
    permission, arns = policy.get("redrivePermission"), policy.get("sourceQueueArns")
    arns = [] if arns is None else arns
    if permission not in ("allowAll", "denyAll", "byQueue") or not _is_arn_list(arns):
        raise _build_allow_policy_error(text)
    if (permission == "byQueue") != bool(arns) or len(arns) > 10:
        raise _build_allow_policy_error(text)
    return RedriveAllowPolicy(permission, tuple(arns))


def _is_arn_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) and parse_queue_arn(v) for v in value)


def _build_allow_policy_error(text: str) -> AwsError:
    reason = "Amazon SQS can't create the redrive allow policy, as it's in an unsupported format."
    return build_policy_error("RedriveAllowPolicy", text, reason)


def build_policy_error(parameter: str, text: str, reason: str) -> AwsError:
    return InvalidParameterValue(
        f"Value {text} for parameter {parameter} is invalid. Reason: {reason}", member=parameter
    )


def _decode_json(text: str) -> Any:
    """Parses JSON. Returns None for a text that is not JSON, and for JSON that is nested too deeply for PostgreSQL."""
    if text.count("[") + text.count("{") > MAX_BRACKETS:
        return None
    try:
        return decode_json(text)
    except (ValueError, RecursionError):
        return None


# --- reading ---------------------------------------------------------------------------------------------------------
class AttributeSelection(msgspec.Struct, frozen=True):
    """The attributes that a request selects: all attributes, these names, or names with one of these prefixes."""

    everything: bool = False
    names: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.everything or bool(self.names) or bool(self.prefixes)

    def __contains__(self, name: str) -> bool:
        return self.everything or name in self.names or name.startswith(self.prefixes)

    @property
    def counts(self) -> bool:
        """Returns whether the selection needs counts of the queue's messages."""
        return self.everything or not self.names.isdisjoint(COUNTS)

    def pick(self, attributes: Mapping[str, V]) -> dict[str, V]:
        """Returns the selected attributes."""
        return {name: value for name, value in attributes.items() if name in self}


NO_ATTRIBUTES = AttributeSelection()
ALL_ATTRIBUTES = AttributeSelection(everything=True)


def check_attribute_names(names: Sequence[str] | None, known: frozenset[str] = READABLE) -> AttributeSelection:
    """Parses AttributeNames of GetQueueAttributes. `All` selects every attribute. Raises InvalidAttributeName."""
    if not names:
        return NO_ATTRIBUTES
    requested = frozenset(names)
    for name in names:
        if name not in known and name != "All":
            raise build_unknown_error(name)
    return ALL_ATTRIBUTES if "All" in requested else AttributeSelection(names=requested)


def check_system_attribute_names(*lists: Sequence[str] | None) -> AttributeSelection:
    """Joins AttributeNames and MessageSystemAttributeNames of ReceiveMessage. Raises InvalidAttributeName."""
    return check_attribute_names([name for names in lists for name in names or ()], MESSAGE_SYSTEM)


def select_message_attributes(names: Iterable[str] | None) -> AttributeSelection:
    """Parses MessageAttributeNames of ReceiveMessage: names, `All`, `.*`, `*`, and `bar.*` for the prefix `bar`."""
    if not names:
        return NO_ATTRIBUTES
    requested = frozenset(names)
    if requested & {"All", ".*", "*"}:
        return ALL_ATTRIBUTES
    prefixes = tuple(name[:-2] for name in requested if name.endswith(".*"))
    return AttributeSelection(names=requested, prefixes=prefixes)
