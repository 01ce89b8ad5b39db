"""Generates hostile texts, and invalid values of members. The limits come from the SQS API reference."""

import re
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import quote

Invalid = Callable[[str], bool]

FRAGMENTS = (
    "'; drop schema queue cascade; --", "' or 1=1 --", '" or ""="', "\\'; select pg_sleep(10); --", "$1", "$$", "%s%n",
    "');delete from queue.log;--", "E'\\000'", "\\x00", "::int", "nextval('x')", "/*", "*/", "{{7*7}}",
    "${jndi:ldap://x}", "${${lower:j}ndi:dns://x}", "#{7*7}", "<%= 7*7 %>", "{% import os %}", "; cat /etc/passwd",
    "`id`", "$(id)", "1 union select null", "admin'--", "../../etc/passwd", "..\\..\\", "<script>alert(1)</script>",
    "&amp;", "<!DOCTYPE x>", "]]>", "\x00", "\x01", "\x1b[31m", "\x7f", "\r\n", "\n", "\t", " ", "\u202e", "\u2028",
    "\ufffd", "\ufffe", "\uffff", "ä", "ß", "İ", "ﬁ", "٣", "漢字", "\U0001f389", "e\u0301", "\u200b", "null", "NaN",
    "Infinity", "-0", "1e999", "0x10", "true", "[]", "{}", "%00", "%ff", "%", "+", "=", "&", "a=b&c=d", ";", ":", "/",
    "\\", "#", "?", "@", "*", ".", "~",
)  # fmt: skip

NOT_A_NAME: Invalid = lambda text: re.fullmatch(r"[A-Za-z0-9_-]{1,80}", text) is None  # noqa: E731
NOT_AN_ID: Invalid = lambda text: re.fullmatch(r"[!-~]{1,128}", text) is None  # noqa: E731
NOT_AN_ACCOUNT: Invalid = lambda text: re.fullmatch(r"[0-9]{12}", text, re.ASCII) is None  # noqa: E731
REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
NOT_A_BODY: Invalid = lambda text: text == "" or REFUSED.search(text) is not None  # noqa: E731
ANYTHING: Invalid = lambda text: True  # noqa: E731


def text(rng: Random, invalid: Invalid) -> str:
    """Returns a hostile text that is invalid for the member."""
    while True:
        found = _text(rng)
        if invalid(found):
            return found


def _text(rng: Random) -> str:
    match rng.randrange(6):
        case 0:
            return rng.choice(FRAGMENTS)
        case 1:
            return "".join(rng.choices(FRAGMENTS, k=rng.randint(2, 12)))
        case 2:
            return "q" + rng.choice(FRAGMENTS) + "q"
        case 3:
            return rng.choice(("a", "é", ".", "-", "\U0001f389", "'")) * rng.choice((81, 129, 257, 5_000, 70_000))
        case 4:
            return "".join(chr(rng.choice((rng.randrange(0xD800), rng.randrange(0xE000, 0x110000)))) for _ in range(9))
        case _:
            return ""


NOT_A_TEXT: tuple[Any, ...] = (1, 1.5, -1, True, False, [], {}, [""], {"a": "b"}, [[[]]])
NOT_A_NUMBER: tuple[Any, ...] = ("5", "", "x", 1.5, True, [], {}, [1], "9" * 400)
NOT_A_LIST: tuple[Any, ...] = ({}, "x", 1, True, [1], [[]], [{"a": []}], [None], {"1": "x"})
NOT_A_MAP: tuple[Any, ...] = ([], "x", 1, True, {"a": 1}, {"a": [1]}, [["a", "b"]])
HUGE = (2**31, 2**63, 2**64, -(2**63), 10**30, -(10**30))

# Raw JSON texts.
RAW_NUMBERS = (
    b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"01", b"+1", b".5", b"1.", b"0x10", b"1_000", b"--1",
    b"1" * 400, b"1." + b"1" * 400, b"1e" + b"9" * 40, "٣".encode(), b"- 1", b"1e", b"tru", b"nul", b"undefined",
    b"''",
)  # fmt: skip
SURROGATES = (b'"\\ud800"', b'"\\udc00\\ud800"', b'"\\ud800x"')
RAW_TEXTS = (
    *SURROGATES, b'"\xed\xa0\x80"', b'"\xff"', b'"\xc0\x80"',
    b'"\xf5\x80\x80\x80"', b'"\x00"', b'"\x1f"', b'"\\x41"', b'"\\u00"', b'"\\', b'"', b"'x'", b"x", b'"a" "b"',
    b"NaN", b'"\xe2\x82"', b"[" * 2_000, b'{"a":' * 2_000, b"[" * 60_000, b"{}{}", b"/**/1",
)  # fmt: skip


NO_NUMBERS = ("x", "NaN", "Infinity", "1e999", "1" * 39, "0x10", "٣", "1,5", "--1", " 1", "1 ", "1e", ".")
NO_COUNTS = (0, -1, 1_001, "1e3", "1.5", "true", "null", '""', '"x"', "[1]", "{}", 10**30, '"1\\u0000"', "NaN")


def out_of(rng: Random, low: int, high: int) -> int:
    numbers = (low - 1, high + 1, low - rng.randint(1, 10**6), high + rng.randint(1, 10**6), *HUGE)
    return rng.choice([number for number in numbers if not low <= number <= high])


def policy(rng: Random) -> str:
    """Returns an invalid access policy: not an object, not JSON, too long or too deep."""
    return rng.choice((
        "x", "[]", "1", '"x"', "null", "{", '{"Statement":', '{"a":1}{', "{'a':1}", "[" * 1_000, '{"a":' * 1_000,
        '{"Version":"' + "x" * 9_000 + '"}', '{"a":"\x00"}', '{"a":NaN}', "\ufeff{}", '{"a":1e999}x',
        text(rng, ANYTHING) + "{",
    ))  # fmt: skip


def redrive_policy(rng: Random) -> str:
    arn = "arn:aws:sqs:us-east-1:000000000000:"
    return rng.choice((
        "x", "[]", "{}", '{"maxReceiveCount":1}', f'{{"deadLetterTargetArn":"{arn}dead"}}',
        f'{{"deadLetterTargetArn":"{arn}never-made-{rng.randrange(9)}","maxReceiveCount":1}}',
        f'{{"deadLetterTargetArn":"{arn}dead.fifo","maxReceiveCount":1}}',
        *(f'{{"deadLetterTargetArn":"{arn}dead","maxReceiveCount":{count}}}'
          for count in NO_COUNTS),
        f'{{"deadLetterTargetArn":"{arn}dead","maxReceiveCount":1,"more":1}}',
        f'{{"maxReceiveCount":1,"maxReceiveCount":2,"deadLetterTargetArn":"{arn}dead"}}',
        '{"maxReceiveCount":1,"deadLetterTargetArn":"\'; drop table queue.log; --"}',
        '{"a":' + "[" * (depth := rng.randint(1, 1_050)) + "]" * depth + "}",
        '{"maxReceiveCount":1,"deadLetterTargetArn":["a"]}', '{"maxReceiveCount":1,"deadLetterTargetArn":"\\u0000"}',
    ))  # fmt: skip


def redrive_allow_policy(rng: Random) -> str:
    arn = '"arn:aws:sqs:us-east-1:000000000000:q"'
    return rng.choice((
        "x", "[]", "{}", '{"redrivePermission":"x"}', '{"redrivePermission":"byQueue"}', '{"redrivePermission":1}',
        '{"redrivePermission":"byQueue","sourceQueueArns":[]}',
        '{"redrivePermission":"byQueue","sourceQueueArns":["x"]}',
        '{"redrivePermission":"byQueue","sourceQueueArns":"x"}',
        '{"redrivePermission":"byQueue","sourceQueueArns":[1]}',
        f'{{"redrivePermission":"byQueue","sourceQueueArns":[{",".join([arn] * 11)}]}}',
        f'{{"redrivePermission":"allowAll","sourceQueueArns":[{arn}]}}', '{"redrivePermission":"allowAll","more":1}',
        '{"sourceQueueArns":["\\u0000"]}', "[" * 500,
    ))  # fmt: skip


def attribute(rng: Random) -> dict[str, str]:
    """Returns an unknown attribute of a standard queue, or an invalid value."""
    number = rng.choice(
        ("", "x", "-1", "1.5", "1e3", "٣", "0x10", "9" * 11, "9" * 400, " 1", "1 ", "true", "\x00", "'")
    )
    name = rng.choice((
        "DelaySeconds", "MaximumMessageSize", "MessageRetentionPeriod", "ReceiveMessageWaitTimeSeconds",
        "VisibilityTimeout", "KmsDataKeyReusePeriodSeconds",
    ))  # fmt: skip
    return rng.choice((
        {name: number}, {name: number}, {"Policy": policy(rng)}, {"RedrivePolicy": redrive_policy(rng)},
        {"RedriveAllowPolicy": redrive_allow_policy(rng)}, {"SqsManagedSseEnabled": "yes"}, {"FifoQueue": "maybe"},
        {"KmsMasterKeyId": "k" * 9_000}, {"KmsMasterKeyId": "a\x00b"}, {"ContentBasedDeduplication": "true"},
        {"QueueArn": "x"}, {"ApproximateNumberOfMessages": "1"}, {text(rng, ANYTHING): "1"}, {"delayseconds": "1"},
    ))  # fmt: skip


def message_attributes(rng: Random) -> dict[str, Any]:
    good = {"DataType": "String", "StringValue": "x"}
    bad_value = rng.choice((
        {}, {"DataType": ""}, {"DataType": "String"}, {"DataType": "String", "StringValue": ""},
        {"DataType": text(rng, lambda kind: not kind.startswith(("String", "Number", "Binary"))), "StringValue": "x"},
        {"DataType": "String.", "StringValue": "x"}, {"DataType": "String." + "x" * 260, "StringValue": "x"},
        *({"DataType": "Number", "StringValue": number} for number in NO_NUMBERS),
        {"DataType": "String", "StringValue": text(rng, NOT_A_BODY)},
        {"DataType": "String", "StringValue": "x", "StringListValues": ["x"]},
        {"DataType": "Binary", "StringValue": "x"}, {"DataType": "String.\x00", "StringValue": "x"},
    ))  # fmt: skip
    bad_name = rng.choice((".a", "a.", "a..b", "AWS.a", "Amazon.b", "aws.c", "a b", "ä!", "x" * 257, "a\x00", "'", ""))
    return rng.choice(({"a": bad_value}, {bad_name: good}, {f"a{n}": good for n in range(11)}))


def tags(rng: Random) -> dict[str, str]:
    return rng.choice((
        {f"k{n}": "v" for n in range(51)}, {"": "v"}, {"k" * 129: "v"}, {"k": "v" * 257}, {"k\x00": "v"},
        {"k": "\x01"}, {"k": "\uffff"}, {"\x1b": "v"},
    ))  # fmt: skip


def entry_ids(rng: Random) -> list[str]:
    """Returns ids that make the service refuse a whole batch."""
    return rng.choice((
        [], ["a", "a"], [str(n) for n in range(11)], [text(rng, NOT_A_NAME)], ["a", text(rng, NOT_A_NAME)], ["x" * 81],
    ))  # fmt: skip


# --- the REST API ----------------------------------------------------------------------------------------------------
Native = tuple[str, str, Any]  # method, path below /v1, and body: bytes or a value for JSON

NOT_JSON = (b"", b"{", b"x", b"[1,]", b'{"a":1}}', b"\xff", b"[" * 100_000, b'{"a":' * 50_000, b"\x00", b"'a'", b"{}{}")


def native_number(rng: Random, low: int, high: int) -> str:
    """Returns a part of an address: a number outside a range, or a text that is not a number."""
    number = str(out_of(rng, low, high))
    return quote(rng.choice((number, number, "x", "1.5", "NaN", "٣", "1e3", "'", "\x00", "9" * 5_000)))
