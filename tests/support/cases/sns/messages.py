"""Lists cases of SNS: messages, their attributes and batches."""

from collections.abc import Iterator
from typing import Any

from tests.support.cases.case import ABSENT, OK, OURS, RECORDED, Response, guide, problem, report, violations
from tests.support.cases.sns.members import ARN, ENTRY, ID, INVALID, NO_ARN, NUMBER, Row, of, refused


def rows() -> Iterator[Row]:
    for table in (_publish, _structured, _publish_to_fifo, _message_attributes, _attribute_texts, _batches):
        yield from table()


STRUCTURE = "Message Structure - {}"
NO_DEFAULT = refused(STRUCTURE.format("No default entry in JSON message body"))
NOT_PARSED = refused(STRUCTURE.format("JSON message body failed to parse"))
MISSING_DEFAULT = report("aws/aws-sdk-ruby", 346)
NO_NUMBER = report("boto/boto3", 2195)
NO_GROUP = report("erlcloud/erlcloud", 785)
ENDPOINT = report("evanshortiss/sns-mobile", 6)
TOO_LONG = report("wellcomecollection/platform", 1460)


def _publish() -> Iterator[Row]:
    anywhere = {"TopicArn": ABSENT}
    yield ("Publish", "", "without a recipient", anywhere,
           refused("TopicArn or TargetArn Reason: no value for required parameter"),
           report("sul-dlss/dlme", 432))  # fmt: skip
    yield ("Publish", "PhoneNumber", "with TopicArn", {"PhoneNumber": NUMBER}, INVALID, report("aws/aws-sdk-js", 1217))
    yield "Publish", "TargetArn", "with TopicArn", {"TargetArn": "<endpoint>"}, INVALID, OURS
    yield ("Publish", "TargetArn", "with PhoneNumber", {**anywhere, "TargetArn": "<endpoint>", "PhoneNumber": NUMBER},
           INVALID, OURS)  # fmt: skip
    yield "Publish", "TargetArn", "of a topic", {**anywhere, "TargetArn": "<topic>"}, OK, of("Publish")
    for number in ("15550100001", "+1555", "555-0100", "x", "+1 555 010 0001"):
        yield ("Publish", "PhoneNumber", number, {**anywhere, "PhoneNumber": number},
               refused(f"PhoneNumber Reason: {number} is not valid to publish to"), NO_NUMBER)  # fmt: skip
    yield "Publish", "PhoneNumber", "valid", {**anywhere, "PhoneNumber": NUMBER}, OK, of("Publish")
    yield ("Publish", "TargetArn", "of no endpoint", {**anywhere, "TargetArn": f"{ARN}endpoint/GCM/none/{ID}"},
           refused("TargetArn Reason: No endpoint found for the target arn specified"), of("Publish"))  # fmt: skip
    yield "Publish", "Message", "empty", {"Message": ""}, refused("Empty message"), of("Publish")
    yield "Publish", "Message", "262144 bytes", {"Message": "x" * 262_144}, OK, of("Publish")
    yield ("Publish", "Message", "262145 bytes", {"Message": "x" * 262_145}, refused("Message too long"), TOO_LONG)
    yield ("Publish", "Message", "131073 letters of two bytes", {"Message": "ä" * 131_073}, refused("Message too long"),
           TOO_LONG)  # fmt: skip
    disabled = {**anywhere, "TargetArn": "<disabled-endpoint>"}
    yield ("Publish", "Message", "no JSON, to a disabled endpoint",
           {**disabled, "Message": "x", "MessageStructure": "json"},
           Response("EndpointDisabled", "Endpoint is disabled"), RECORDED)  # fmt: skip
    yield ("Publish", "TargetArn", "no ARN, without TopicArn", {**anywhere, "TargetArn": "x"},
           Response(INVALID.code, NO_ARN.format("TargetArn")), OURS)  # fmt: skip
    for subject in ("x" * 100, "a\nb", "a\tb", "\x01"):
        yield ("Publish", "Subject", subject[:5].encode("unicode_escape").decode(), {"Subject": subject},
               refused("Subject"), of("Publish"))  # fmt: skip
    for subject in ("x" * 99, "?!", "a b"):
        yield "Publish", "Subject", subject[:5], {"Subject": subject}, OK, of("Publish")


def _structured() -> Iterator[Row]:
    anywhere, structured = {"TopicArn": ABSENT}, {"MessageStructure": "json"}
    for message in ('{"sqs":"x"}', "{}", '{"Default":"x"}', '{"default":1}', '{"default":null}'):
        yield ("Publish", "Message", f"{message} as JSON", {**structured, "Message": message}, NO_DEFAULT,
               MISSING_DEFAULT)  # fmt: skip
    for message in ("x", "[]", "{", '"default"', "null"):
        yield ("Publish", "Message", f"{message} as JSON", {**structured, "Message": message}, NOT_PARSED,
               of("Publish"))  # fmt: skip
    for message in ('{"default":"x","this":"that"}', '{"default":"x","sqs":1}', '{"default":"x","x":{}}'):
        yield ("Publish", "Message", f"{message} as JSON", {**structured, "Message": message}, OK,
               report("boto/boto3", 464))  # fmt: skip
    yield ("Publish", "Message", "for the platform alone",
           {**anywhere, "TargetArn": "<endpoint>", **structured, "Message": '{"GCM":"x"}'}, OK, ENDPOINT)  # fmt: skip
    yield ("Publish", "Message", "for another platform",
           {**anywhere, "TargetArn": "<endpoint>", **structured, "Message": '{"ADM":"x"}'},
           refused("JSON must contain an entry for 'default' or 'GCM'."), ENDPOINT)  # fmt: skip
    for value in ("string", "String"):
        yield ("Publish", "MessageStructure", value, {"MessageStructure": value}, OK, report("aws/aws-sdk-js", 1368))
    for value in ("JSON", "x"):
        yield "Publish", "MessageStructure", value, {"MessageStructure": value, "Message": "x"}, INVALID, OURS


def _publish_to_fifo() -> Iterator[Row]:
    fifo = {"TopicArn": "<fifo-topic>", "MessageGroupId": "g", "MessageDeduplicationId": "<name>"}
    yield "Publish", "", "to a FIFO topic", fifo, OK, of("Publish")
    yield ("Publish", "MessageGroupId", "absent, FIFO", {**fifo, "MessageGroupId": ABSENT},
           refused("The MessageGroupId parameter is required for FIFO topics"), NO_GROUP)  # fmt: skip
    yield ("Publish", "MessageDeduplicationId", "absent, FIFO", {**fifo, "MessageDeduplicationId": ABSENT}, INVALID,
           of("Publish"))  # fmt: skip
    yield ("Publish", "MessageDeduplicationId", "absent, by content",
           {**fifo, "TopicArn": "<content-topic>", "MessageDeduplicationId": ABSENT}, OK, of("Publish"))  # fmt: skip
    for member in ("MessageGroupId", "MessageDeduplicationId"):
        for case, value in (("129 characters", "x" * 129), ("with a space", "a b"), ("not ASCII", "ä")):
            yield "Publish", member, f"{case}, FIFO", {**fifo, member: value}, INVALID, of("Publish")
        yield "Publish", member, "128 characters, FIFO", {**fifo, member: "x" * 128}, OK, of("Publish")
    yield ("Publish", "MessageDeduplicationId", "on a standard topic", {"MessageDeduplicationId": "x"}, INVALID,
           of("Publish"))  # fmt: skip
    yield "Publish", "MessageGroupId", "on a standard topic", {"MessageGroupId": "x"}, OK, of("Publish")


def _message_attributes() -> Iterator[Row]:
    bad, source = Response("ParameterValueInvalid"), of("MessageAttributeValue")
    for case, name, value, response in (
        ("a text", "a", {"DataType": "String", "StringValue": "x"}, OK),
        ("a number", "a", {"DataType": "Number", "StringValue": "1e2"}, OK),
        ("an array", "a", {"DataType": "String.Array", "StringValue": '["a",1,true,null]'}, OK),
        ("a custom type", "a", {"DataType": "Number.float", "StringValue": "1"}, OK),
        ("no number", "a", {"DataType": "Number", "StringValue": "x"}, bad),
        ("an empty type", "a", {"DataType": "", "StringValue": "x"}, bad),
        ("a type in lower case", "a", {"DataType": "string", "StringValue": "x"}, bad),
        ("a custom type with spaces", "a", {"DataType": "String.  prefixed.", "StringValue": "x"}, OK),
        ("a type of 257 characters", "a", {"DataType": "String." + "x" * 250, "StringValue": "x"}, bad),
        ("a name with a space", "a b", {"DataType": "String", "StringValue": "x"}, bad),
        ("a name of AWS", "AWS.a", {"DataType": "String", "StringValue": "x"}, bad),
        ("a name of Amazon", "amazon.a", {"DataType": "String", "StringValue": "x"}, bad),
        ("AWS.SNS.SMS.SenderID", "AWS.SNS.SMS.SenderID", {"DataType": "String", "StringValue": "x"}, OK),
    ):
        yield "Publish", "MessageAttributes", case, {"MessageAttributes": {name: value}}, response, source
    for case, name, value, text in _refused_attributes():
        refusal = Response("ParameterValueInvalid", text)
        given = {"MessageAttributes": {name: value}}
        yield "Publish", "MessageAttributes", f"{case}: the text", given, refusal, RECORDED
        batch = {"PublishBatchRequestEntries": [{"Id": "b", "Message": "m"}, {**ENTRY, **given}]}
        yield ("PublishBatch", "PublishBatchRequestEntries.N.MessageAttributes", f"{case}: the text", batch, refusal,
               RECORDED)  # fmt: skip


def _attribute_texts() -> Iterator[Row]:
    letter = (
        "Invalid non-alphanumeric character '#xE9' was found in the message attribute name. Can only include "
        "alphanumeric characters, hyphens, underscores, or dots."
    )
    reserved = (
        "Message (user) attribute name '{}' is invalid. It can contain 1 to 256 alphanumeric characters, underscores, "
        "hyphens and periods, must not start with AWS. or Amazon., must not start or end with a period and must not "
        "have periods in succession."
    )
    for name, words in (("é", letter), ("AWS.a", reserved.format("AWS.a")), ("Amazon.a", reserved.format("Amazon.a"))):
        given = {"MessageAttributes": {name: {"DataType": "String", "StringValue": "x"}}}
        refusal = Response("ParameterValueInvalid", words)
        yield "Publish", "MessageAttributes", f"the name {name}: the text", given, refusal, OURS
    given = {"MessageAttributes": {"a": {"StringValue": "x"}}}
    member = "messageAttributes.a.member.dataType"
    absent = Response("ValidationError", violations(problem("null", member, "not be null")))
    yield "Publish", "MessageAttributes", "without a DataType", given, absent, RECORDED
    second = f"publishBatchRequestEntries.2.member.{member}"
    yield ("PublishBatch", "PublishBatchRequestEntries.N.MessageAttributes", "without a DataType",
           {"PublishBatchRequestEntries": [{"Id": "b", "Message": "m"}, {**ENTRY, **given}]},
           Response("ValidationError", violations(problem("null", second, "not be null"))), RECORDED)  # fmt: skip
    many = {f"a{n}": {"DataType": "String", "StringValue": "x"} for n in range(11)}
    yield ("Publish", "MessageAttributes", "eleven", {"MessageAttributes": many}, OK,
           guide("sns", "sns-message-attributes", "Message attributes"))  # fmt: skip


def _refused_attributes() -> Iterator[tuple[str, str, dict[str, str], str]]:
    """Yields attributes with SNS's texts, which differ from SQS's texts."""
    text = {"DataType": "String", "StringValue": "x"}
    empty = "The message attribute 'a' must contain non-empty message attribute value for message attribute type '{}'."
    for data_type in ("String", "Number", "Binary", "String.custom"):
        yield f"{data_type} without a value", "a", {"DataType": data_type}, empty.format(data_type)
    yield "an empty text", "a", {"DataType": "String", "StringValue": ""}, empty.format("String")
    yield "empty bytes", "a", {"DataType": "Binary", "BinaryValue": ""}, empty.format("Binary")
    for data_type, member, field in (
        ("String", "BinaryValue", "String"),
        ("Number", "BinaryValue", "String"),
        ("Binary", "StringValue", "Binary"),
    ):
        yield (f"{data_type} in {member}", "a", {"DataType": data_type, member: "eA=="},
               f"The message attribute 'a' with type '{data_type}' must use field '{field}'.")  # fmt: skip
    unknown = (
        "The message attribute 'a' has an invalid message attribute type, "
        "the set of supported type prefixes is Binary, Number, and String."
    )
    for data_type in ("Boolean", "String.", "Stringprefixed", "string"):
        yield f"the type {data_type}", "a", {"DataType": data_type, "StringValue": "x"}, unknown
    foreign = (
        "Invalid non-alphanumeric character '#x5E' was found in the message attribute name. Can only include "
        "alphanumeric characters, hyphens, underscores, or dots."
    )
    yield "a name of 257", "a" * 257, text, "Length of message attribute name must be less than 256 bytes."
    yield "a foreign character", "a^*?", text, foreign
    for name, how in ((".abc", "starting"), ("abc.", "ending")):
        yield (f"the name {name}", name, text, f"Invalid message attribute name {how} with character '.' was found.")
    yield "the name a..bc", "a..bc", text, "Message attribute name can not have successive '.' character."


def _batches() -> Iterator[Row]:
    def entries(*given: dict[str, Any]) -> dict[str, Any]:
        return {"PublishBatchRequestEntries": list(given)}

    name, batch = "PublishBatchRequestEntries", of("PublishBatch")
    yield ("PublishBatch", name, "eleven", entries(*({**ENTRY, "Id": str(n)} for n in range(11))),
           Response("TooManyEntriesInBatchRequest"), batch)  # fmt: skip
    yield ("PublishBatch", name, "two of one id", entries(ENTRY, ENTRY), Response("BatchEntryIdsNotDistinct"), batch)
    yield ("PublishBatch", name, "ids that differ in letter case", entries(ENTRY, {**ENTRY, "Id": "A"}), OK, batch)
    start = "The Id of a batch entry in the batch request"
    for bad in ("a b", "message.id", "ä", "x" * 81):
        problem_of_id = "is too long" if len(bad) > 80 else "contains an impermissible character"
        yield ("PublishBatch", f"{name}.N.Id", bad[:5], entries({**ENTRY, "Id": bad}),
               Response("InvalidBatchEntryId", f"{start} {problem_of_id}: {bad}"), RECORDED)  # fmt: skip
    yield ("PublishBatch", f"{name}.N.Id", "80 characters", entries({**ENTRY, "Id": "x" * 80}), OK,
           of("PublishBatchRequestEntry"))  # fmt: skip
    long = ({**ENTRY, "Id": letter, "Message": "x" * 131_073} for letter in "ab")
    too_long = Response("BatchRequestTooLong", "The length of all the messages put together is more than the limit.")
    yield "PublishBatch", name, "262146 bytes", entries(*long), too_long, RECORDED
    attribute = {"a": {"DataType": "Number", "StringValue": "x"}}
    yield ("PublishBatch", f"{name}.N.MessageAttributes", "no number",
           entries({**ENTRY, "MessageAttributes": attribute}), Response("ParameterValueInvalid"), RECORDED)  # fmt: skip
    fifo = {"TopicArn": "<fifo-topic>"}
    yield ("PublishBatch", f"{name}.N.MessageGroupId", "absent, FIFO",
           {**fifo, **entries({**ENTRY, "MessageDeduplicationId": "x"})},
           refused("The MessageGroupId parameter is required for FIFO topics"), RECORDED)  # fmt: skip
    yield ("PublishBatch", f"{name}.N.Message", "JSON without a default and without a group, FIFO",
           {**fifo, **entries({**ENTRY, "Message": '{"x":"y"}', "MessageStructure": "json"})}, NO_DEFAULT,
           RECORDED)  # fmt: skip
    yield ("PublishBatch", f"{name}.N.MessageDeduplicationId", "absent, FIFO",
           {**fifo, **entries({**ENTRY, "MessageGroupId": "x"})}, INVALID, batch)  # fmt: skip
