"""Validates message attributes of Publish and PublishBatch.

The texts are SNS's, as recorded at AWS. SNS shares its other rules with SQS, so their errors have SQS's texts.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from penstock import errors as sqs_errors
from penstock.aws.codec.limits import Violation
from penstock.sns import errors
from penstock.sns import types as sns
from penstock.sqs import validation
from penstock.sqs.types import MessageAttributeValue

RESERVED = ("AWS.SNS.", "AWS.MM.")
"""Prefixes of attributes that control text messages and pushes of SNS. SQS refuses these prefixes."""
MAX_NAME_BYTES = 256

T = TypeVar("T")
Given = Mapping[str, sns.MessageAttributeValue]


def check_attribute_types(messages: Iterable[tuple[str, Given | None]]) -> None:
    """Raises ValidationError for attributes without a DataType. Each violation names the path of its member."""
    problems = [
        Violation("null", f"{path}messageAttributes.{name}.member.dataType", "Member must not be null")
        for path, attributes in messages
        for name, value in (attributes or {}).items()
        if value.data_type is None
    ]
    if problems:
        raise errors.ValidationError.of(problems)


def check_attributes(given: Given) -> dict[str, MessageAttributeValue]:
    """Returns the attributes in SQS's format. Raises ParameterValueInvalid. A Number.Array is not a number."""
    build_error = partial(errors.ParameterValueInvalid, member="MessageAttributes")
    attributes = {
        name: MessageAttributeValue(value.data_type or "", value.string_value, value.binary_value)
        for name, value in given.items()
    }
    for name, value in attributes.items():
        if (problem := find_name_problem(name) or find_value_problem(name, value)) is not None:
            raise build_error(problem)
        checked = name.removeprefix("AWS.") if name.startswith(RESERVED) else name
        as_sqs = replace(value, data_type="String") if value.data_type == "Number.Array" else value
        apply_sqs_rule(validation.check_message_attributes, {checked: as_sqs}, build_error)
    return attributes


def find_name_problem(name: str) -> str | None:
    """Returns SNS's error text about the name of an attribute, or None for a valid name. A name has only ASCII letters
    ("Amazon SNS message attributes", https://docs.aws.amazon.com/sns/latest/dg/sns-message-attributes.html)."""
    if len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        return f"Length of message attribute name must be less than {MAX_NAME_BYTES} bytes."
    foreign = next((sign for sign in name if not (sign.isascii() and (sign.isalnum() or sign in "-_."))), None)
    if foreign is not None:
        return (
            f"Invalid non-alphanumeric character '#x{ord(foreign):X}' was found in the message attribute name. "
            "Can only include alphanumeric characters, hyphens, underscores, or dots."
        )
    if name.startswith("."):
        return "Invalid message attribute name starting with character '.' was found."
    if name.endswith("."):
        return "Invalid message attribute name ending with character '.' was found."
    return "Message attribute name can not have successive '.' character." if ".." in name else None


def find_value_problem(name: str, value: MessageAttributeValue) -> str | None:
    """Returns SNS's error text about an attribute's type or the member with its value, or None if both are valid."""
    kind, data_type = value.data_type.partition(".")[0], value.data_type
    if data_type and (kind not in ("Binary", "Number", "String") or data_type == f"{kind}."):
        return (
            f"The message attribute '{name}' has an invalid message attribute type, the set of supported type prefixes "
            "is Binary, Number, and String."
        )
    field = "Binary" if kind == "Binary" else "String"
    right, wrong = value.string_value, value.binary_value
    if field == "Binary":
        right, wrong = wrong, right
    if data_type and wrong:
        return f"The message attribute '{name}' with type '{data_type}' must use field '{field}'."
    if data_type and not right:
        return (
            f"The message attribute '{name}' must contain non-empty message attribute value for message attribute type "
            f"'{data_type}'."
        )
    return None


def apply_sqs_rule(check: Callable[[T], object], value: T, build_error: Callable[[str], sqs_errors.AwsError]) -> None:
    """Applies a rule of SQS to a value. Raises SNS's error with SQS's text if the rule fails."""
    try:
        check(value)
    except sqs_errors.AwsError as error:
        raise build_error(error.message) from error
