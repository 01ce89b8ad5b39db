"""Lists the examples of the SNS Developer Guide: policies, and messages that they accept or reject according to the
page.

The pages are "String value matching", "Numeric value matching", "Key matching", "AND/OR logic" and "Example filter
policies". The module interprets a list of values both as an attribute of type String.Array and as a body.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Attributes = dict[str, tuple[str, str]]  # maps names to type and value
Body = dict[str, Any]
STRING, NUMBER, STRINGS, NUMBERS = "String", "Number", "String.Array", "Number.Array"


@dataclass(frozen=True)
class Example:
    page: str
    policy: dict[str, Any]
    accepts: tuple[Attributes, ...] = ()
    rejects: tuple[Attributes, ...] = ()
    accepts_bodies: tuple[Body, ...] = ()
    rejects_bodies: tuple[Body, ...] = ()


@dataclass(frozen=True)
class PolicyCase:
    """Contains a message, and whether the policy accepts the message."""

    name: str
    policy: str
    scope: str
    message: Attributes | str
    accepted: bool


def strings(name: str, *values: str) -> tuple[Attributes, ...]:
    return tuple({name: (STRING, value)} for value in values)


def numbers(name: str, *values: str) -> tuple[Attributes, ...]:
    return tuple({name: (NUMBER, value)} for value in values)


def listed(name: str, *values: str) -> Attributes:
    """Returns a message with an array of strings."""
    return {name: (STRINGS, json.dumps(values))}


def bodies(name: str, *values: Any) -> tuple[Body, ...]:
    return tuple({name: value} for value in values)


INTERESTS = "customer_interests"
WITH_STORE: Attributes = {"store": (STRING, "fans"), **listed(INTERESTS, "baseball", "basketball")}
WITHOUT_STORE = listed(INTERESTS, "baseball", "basketball")
STORE_BODY: Body = {"store": "fans", INTERESTS: ["baseball", "basketball"]}
NO_STORE_BODY: Body = {INTERESTS: ["baseball", "basketball"]}
TRANSACTION: Attributes = {
    **listed(INTERESTS, "soccer", "rugby", "hockey"),
    "store": (STRING, "example_corp"),
    "event": (STRING, "order_placed"),
    "price_usd": (NUMBER, "210.75"),
}
TRANSACTION_BODY: Body = {
    INTERESTS: ["soccer", "rugby", "hockey"],
    "store": "example_corp",
    "event": "order_placed",
    "price_usd": 210.75,
}
SOURCE: Attributes = {"source": (STRING, "aws.cloudwatch")}
BALLS, NO_BALLS = ("baseball", "basketball"), ("hockey", "rugby", "soccer")

EXAMPLES = (
    Example(
        "exact",
        {INTERESTS: ["rugby", "tennis"]},
        accepts=(*strings(INTERESTS, "rugby", "tennis"), listed(INTERESTS, "rugby", "tennis")),
        rejects=(*strings(INTERESTS, "baseball"), listed(INTERESTS, "baseball")),
        accepts_bodies=bodies(INTERESTS, "rugby", "tennis"),
        rejects_bodies=bodies(INTERESTS, "baseball"),
    ),
    Example(
        "anything-but",
        {INTERESTS: [{"anything-but": ["rugby", "tennis"]}]},
        accepts=(*strings(INTERESTS, "baseball", "football"), listed(INTERESTS, "rugby", "baseball")),
        rejects=(*strings(INTERESTS, "rugby"), listed(INTERESTS, "rugby")),
        accepts_bodies=bodies(INTERESTS, "baseball", "football", ["rugby", "baseball"]),
        rejects_bodies=bodies(INTERESTS, ["rugby"]),
    ),
    Example(
        "anything-but prefix",
        {"event": [{"anything-but": {"prefix": "order-"}}]},
        accepts=strings("event", "data-entry", "order_number"),
        rejects=strings("event", "order-cancelled"),
        accepts_bodies=bodies("event", "data-entry", "order_number"),
        rejects_bodies=bodies("event", "order-cancelled"),
    ),
    Example(
        "anything-but wildcard",
        {INTERESTS: [{"anything-but": {"wildcard": "*ball"}}]},
        accepts=(listed(INTERESTS, *NO_BALLS),),
        rejects=(listed(INTERESTS, *BALLS),),
        accepts_bodies=bodies(INTERESTS, NO_BALLS),
        rejects_bodies=bodies(INTERESTS, BALLS),
    ),
    Example(
        "anything-but suffix",
        {INTERESTS: [{"anything-but": {"suffix": "ball"}}]},
        accepts=(listed(INTERESTS, *NO_BALLS),),
        rejects=(listed(INTERESTS, *BALLS),),
        accepts_bodies=bodies(INTERESTS, NO_BALLS),
        rejects_bodies=bodies(INTERESTS, BALLS),
    ),
    Example(
        "equals-ignore-case",
        {INTERESTS: [{"equals-ignore-case": "tennis"}]},
        accepts=strings(INTERESTS, "TENNIS", "Tennis"),
        accepts_bodies=bodies(INTERESTS, "TENNIS", "teNnis"),
    ),
    Example(
        "cidr",
        {"source_ip": [{"cidr": "10.0.0.0/24"}]},
        accepts=strings("source_ip", "10.0.0.0", "10.0.0.255"),
        rejects=strings("source_ip", "10.1.1.0"),
        accepts_bodies=bodies("source_ip", "10.0.0.0", "10.0.0.255"),
        rejects_bodies=bodies("source_ip", "10.1.1.0"),
    ),
    Example(
        "prefix",
        {INTERESTS: [{"prefix": "bas"}]},
        accepts=strings(INTERESTS, *BALLS),
        rejects=strings(INTERESTS, "rugby"),
        accepts_bodies=bodies(INTERESTS, *BALLS),
        rejects_bodies=bodies(INTERESTS, "rugby"),
    ),
    Example(
        "suffix",
        {INTERESTS: [{"suffix": "ball"}]},
        accepts=strings(INTERESTS, *BALLS),
        rejects=strings(INTERESTS, "rugby"),
        accepts_bodies=bodies(INTERESTS, *BALLS),
        rejects_bodies=bodies(INTERESTS, "rugby"),
    ),
    Example(
        "wildcard",
        {INTERESTS: [{"wildcard": "*ball"}]},
        accepts=(listed(INTERESTS, *BALLS),),
        accepts_bodies=bodies(INTERESTS, BALLS),
    ),
    Example(
        "numeric =",
        {"price_usd": [{"numeric": ["=", 301.5]}]},
        accepts=numbers("price_usd", "301.5", "3.015e2"),
        accepts_bodies=bodies("price_usd", 301.5, 3.015e2),
    ),
    Example(
        "anything-but numbers",
        {"price": [{"anything-but": [100, 500]}]},
        accepts=(*numbers("price", "101", "100.1"), {"price": (NUMBERS, "[100, 50]")}),
        rejects=numbers("price", "100"),
        accepts_bodies=bodies("price", 101, 100.1, [100, 50]),
        rejects_bodies=bodies("price", 100),
    ),
    Example(
        "numeric <: negative numbers",
        {"price_usd": [{"numeric": ["<", 0]}]},
        accepts=numbers("price_usd", "-1", "-0.00001"),
        rejects=numbers("price_usd", "0", "1"),
        accepts_bodies=bodies("price_usd", -1, -0.00001),
        rejects_bodies=bodies("price_usd", 0, 1),
    ),
    Example(
        "numeric > and <=: positive numbers up to and including 150",
        {"price_usd": [{"numeric": [">", 0, "<=", 150]}]},
        accepts=numbers("price_usd", "0.1", "150"),
        rejects=numbers("price_usd", "0", "150.1", "-1"),
        accepts_bodies=bodies("price_usd", 0.1, 150),
        rejects_bodies=bodies("price_usd", 0, 150.1, -1),
    ),
    Example(
        "exists: true",
        {"store": [{"exists": True}]},
        accepts=(WITH_STORE,),
        rejects=(WITHOUT_STORE,),
        accepts_bodies=(STORE_BODY,),
        rejects_bodies=(NO_STORE_BODY, {**NO_STORE_BODY, "store": None}, {**NO_STORE_BODY, "store": ""}),
    ),
    Example(
        "exists: false, which requires at least one attribute",
        {"store": [{"exists": False}]},
        accepts=(WITHOUT_STORE,),
        rejects=(WITH_STORE, {}),
        accepts_bodies=(NO_STORE_BODY,),
        rejects_bodies=(STORE_BODY, {}),
    ),
    Example(
        "and",
        {INTERESTS: ["rugby"], "price_usd": [{"numeric": [">", 100]}]},
        accepts=({**listed(INTERESTS, "rugby"), "price_usd": (NUMBER, "100.5")},),
        rejects=({**listed(INTERESTS, "rugby"), "price_usd": (NUMBER, "100")}, *strings(INTERESTS, "rugby")),
        accepts_bodies=({INTERESTS: "rugby", "price_usd": 101},),
        rejects_bodies=({INTERESTS: "tennis", "price_usd": 101},),
    ),
    Example(
        "or",
        {INTERESTS: ["rugby", "football", "baseball"]},
        accepts=strings(INTERESTS, "rugby", "football", "baseball"),
        rejects=strings(INTERESTS, "tennis"),
    ),
    Example(
        "$or",
        {"source": ["aws.cloudwatch"], "$or": [{"metricName": ["CPUUtilization"]}, {"namespace": ["AWS/EC2"]}]},
        accepts=({**SOURCE, "metricName": (STRING, "CPUUtilization")}, {**SOURCE, "namespace": (STRING, "AWS/EC2")}),
        rejects=(SOURCE, {"metricName": (STRING, "CPUUtilization")}, {**SOURCE, "namespace": (STRING, "AWS/ES")}),
        accepts_bodies=(
            {"source": "aws.cloudwatch", "metricName": "CPUUtilization"},
            {"source": "aws.cloudwatch", "namespace": "AWS/EC2"},
        ),
        rejects_bodies=({"source": "aws.cloudwatch"},),
    ),
    Example(
        "example that accepts",
        {
            "store": ["example_corp"],
            "event": [{"anything-but": "order_cancelled"}],
            INTERESTS: ["rugby", "football", "baseball"],
            "price_usd": [{"numeric": [">=", 100]}],
        },
        accepts=(TRANSACTION,),
        accepts_bodies=(TRANSACTION_BODY,),
    ),
    Example(
        "example that rejects",
        {
            "store": ["example_corp"],
            "event": ["order_cancelled"],
            "encrypted": [False],
            INTERESTS: ["basketball", "baseball"],
        },
        rejects=(TRANSACTION,),
        rejects_bodies=(TRANSACTION_BODY,),
    ),
)

# Policies of "AND/OR logic" and "Filter policy constraints" with the page's number of combinations.
OR_POLICY = {
    "source": ["aws.cloudwatch"],
    "$or": [
        {"metricName": ["CPUUtilization", "ReadLatency"]},
        {"metricType": ["MetricType"], "$or": [{"metricId": [1234, 4321]}, {"spaceId": [1000, 2000, 3000]}]},
    ],
}
NESTED_OR_POLICY = {
    "$or": [{"metricName": ["CPUUtilization", "ReadLatency"]}, {"namespace": ["AWS/EC2", "AWS/ES"]}],
    "detail": {
        "scope": ["Service"],
        "$or": [{"source": ["aws.cloudwatch"]}, {"type": ["CloudWatch Alarm State Change"]}],
    },
}


def cases() -> Iterator[PolicyCase]:
    for example in EXAMPLES:
        policy = json.dumps(example.policy)
        for accepted, messages in ((True, example.accepts), (False, example.rejects)):
            for message in messages:
                yield PolicyCase(f"{example.page}: {message}", policy, "MessageAttributes", message, accepted)
        for accepted, found in ((True, example.accepts_bodies), (False, example.rejects_bodies)):
            for body in found:
                text = json.dumps(body)
                yield PolicyCase(f"{example.page}: {text}", policy, "MessageBody", text, accepted)
