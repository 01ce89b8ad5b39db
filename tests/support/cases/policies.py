"""Lists access policies that SQS and SNS refuse, and policies that they store."""

import json
from collections.abc import Iterator
from typing import Any

from tests.support.cases.case import DOCS, OK, Response, Source, report
from tests.support.cases.sns.members import refused
from tests.support.cases.sqs.members import Row

_USER_GUIDE = f"{DOCS}/IAM/latest/UserGuide"
GRAMMAR = Source(
    "Grammar of the IAM JSON policy language, IAM User Guide", f"{_USER_GUIDE}/reference_policies_grammar.html"
)
SIDS = Source("IAM JSON policy elements: Sid, IAM User Guide", f"{_USER_GUIDE}/reference_policies_elements_sid.html")
SQS_QUOTAS = Source(
    "Amazon SQS policy quotas, SQS Developer Guide",
    f"{DOCS}/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-policies.html",
)
SNS_QUOTAS = Source(
    "Amazon SNS API permissions, SNS Developer Guide",
    f"{DOCS}/sns/latest/dg/sns-access-policy-language-api-permissions-reference.html",
)
PRINCIPAL = report("hashicorp/terraform", 31538)
ACTION = report("cloudtools/awacs", 34)
SCOPE = report("hashicorp/terraform", 12740)
MANY_ACTIONS = report("ministryofjustice/cloud-platform-environments", 9082)
FORM = Response("InvalidAttributeValue", "Invalid value for the parameter Policy.")
SNS_FORM = refused("Policy Error: null")

Statement = dict[str, Any]


def _allow(service: str, **changes: Any) -> Statement:
    action = {"sqs": "SendMessage", "sns": "Publish"}[service]
    usual = {"Effect": "Allow", "Principal": "*", "Action": f"{service}:{action}", "Resource": "*"}
    return {name: value for name, value in {**usual, **changes}.items() if value is not None}


def _document(*statements: Statement, **members: Any) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements), **members})


def _malformed(service: str) -> Iterator[tuple[str, str]]:
    yield "no statement", "{}"
    yield "an empty list of statements", _document()
    yield "a statement that is a text", json.dumps({"Statement": "x"})
    yield "a member that IAM lacks", _document(_allow(service), Statements=[])
    for version in ("2020", "2012-10-18", 2012, ""):
        yield f"Version {version!r}", _document(_allow(service), Version=version)
    changes: tuple[Statement, ...] = (
        {"Principal": None},
        {"NotPrincipal": "*"},
        {"Effect": None},
        {"Effect": "allow"},
        {"Effect": "ALLOW"},
        {"Action": None},
        {"Action": []},
        {"NotAction": f"{service}:AddPermission"},
        {"Resource": None},
        {"NotResource": "x"},
        {"Sid": 1},
        {"Principle": "*"},
        {"Condition": []},
        {"Condition": {"ArnEqual": {"aws:SourceArn": "x"}}},
        {"Condition": {"StringEqualsIfExist": {"aws:SourceArn": "x"}}},
        {"Condition": {"ForAllValue:StringEquals": {"aws:SourceArn": "x"}}},
        {"Condition": {"ArnEquals": {}}},
        {"Condition": {"ArnEquals": {"aws:SourceArn": {"a": "b"}}}},
    )
    for change in changes:
        yield f"a statement with {json.dumps(change)}", _document(_allow(service, **change))


def _of_no_principal(service: str) -> Iterator[tuple[str, str]]:
    principals: tuple[Any, ...] = (
        "x",
        "111122223333",
        {},
        {"AWS": []},
        {"AWS": "1111"},
        {"AWS": "arn:aws:iam::1111:root"},
        {"AWS": "arn:aws:sqs:us-east-1:111122223333:q"},
        {"aws": "*"},
    )
    for principal in principals:
        yield f"Principal {json.dumps(principal)}", _document(_allow(service, Principal=principal))


def _stored(service: str) -> Iterator[tuple[str, str]]:
    yield "one statement that is no list", json.dumps({"Statement": _allow(service)})
    yield "Version 2008-10-17", _document(_allow(service), Version="2008-10-17", Id="x")
    yield "two empty Sids", _document(_allow(service, Sid=""), _allow(service, Sid=""))
    changes: tuple[Statement, ...] = (
        {"Effect": "Deny", "Principal": None, "NotPrincipal": {"AWS": "111122223333"}},
        {"Principal": {"AWS": ["111122223333", "arn:aws:iam::111122223333:role/a/b"], "Service": "s3.amazonaws.com"}},
        {"Principal": {"AWS": "arn:aws:sts::111122223333:assumed-role/a/b"}},
        {"Principal": {"AWS": "AROAEXAMPLEEXAMPLE12"}},
        {"Principal": {"Service": "none.example.com"}},
        {"Action": "*"},
        {"Action": f"{service.upper()}:*"},
        {"Action": [f"{service}:Get*", f"{service}:AddPermission"]},
        {"Action": None, "NotAction": f"{service}:AddPermission"},
        {"Resource": None, "NotResource": "x"},
        {"Condition": {"ArnLike": {"aws:SourceArn": ["x", "y"]}, "Bool": {"aws:SecureTransport": True}}},
        {"Condition": {"ForAnyValue:StringLikeIfExists": {"aws:PrincipalOrgID": "o-x"}}},
        {"Condition": {"NumericLessThanEquals": {"a:b": 1}, "DateGreaterThan": {"aws:CurrentTime": "x"}}},
        {"Condition": {"Null": {"aws:SourceArn": "true"}, "NotIpAddress": {"aws:SourceIp": "10.0.0.0/8"}}},
    )
    for change in changes:
        yield f"a statement with {json.dumps(change)}", _document(_allow(service, **change))


def _twice(service: str) -> str:
    return _document(_allow(service, Sid="a"), _allow(service, Sid="a"))


def _many(service: str, number: int) -> str:
    return _document(*(_allow(service, Sid=str(n)) for n in range(number)))


def sqs_rows() -> Iterator[Row]:
    unknown = (
        "Value {} for parameter ActionName is invalid. "
        "Reason: Please refer to the appropriate WSDL for a list of valid actions."
    )
    eight = [f"sqs:{name}*" for name in "abcdefgh"]
    rows: list[tuple[str, str, Response, Source]] = [
        *((case, text, FORM, GRAMMAR) for case, text in _malformed("sqs")),
        *((case, text, FORM, GRAMMAR) for case, text in _of_no_principal("sqs")),
        *((case, text, OK, GRAMMAR) for case, text in _stored("sqs")),
        ("a Sid twice", _twice("sqs"), FORM, SIDS),
        *(
            (
                f"Action {name}",
                _document(_allow("sqs", Action=name)),
                Response("InvalidParameterValue", unknown.format(name)),
                ACTION,
            )
            for name in ("sqs:Nope", "SQS:ChangeMessageVisibilityBatch", "sns:Publish", "SendMessage")
        ),
        ("20 statements", _many("sqs", 20), OK, SQS_QUOTAS),
        ("21 statements", _many("sqs", 21), Response("OverLimit"), SQS_QUOTAS),
        ("7 actions", _document(_allow("sqs", Action=eight[:7])), OK, SQS_QUOTAS),
        (
            "8 actions",
            _document(_allow("sqs", Action=eight)),
            Response("OverLimit", "8 actions were found in a statement from the submitted policy, max allowed is 7"),
            MANY_ACTIONS,
        ),
    ]  # fmt: skip
    for case, text, response, source in rows:
        given = {"Attributes": {"Policy": text}}
        yield "CreateQueue", "Attributes.Policy", case, given, response, source
        new = {"QueueUrl": "<new-queue>", **given}
        yield "SetQueueAttributes", "Attributes.Policy", case, new, response, source


def sns_rows() -> Iterator[Row]:
    not_found = refused("Policy Error: PrincipalNotFound")
    scope = refused("Policy statement action out of service scope!")
    rows: list[tuple[str, str, Response, Source]] = [
        *((case, text, SNS_FORM, GRAMMAR) for case, text in _malformed("sns")),
        *((case, text, not_found, PRINCIPAL) for case, text in _of_no_principal("sns")),
        *((case, text, OK, GRAMMAR) for case, text in _stored("sns")),
        ("a Sid twice", _twice("sns"), SNS_FORM, SIDS),
        *(
            (f"Action {name}", _document(_allow("sns", Action=["sns:Publish", name])), scope, SCOPE)
            for name in ("sns:CreateTopic", "sns:Nope", "sqs:SendMessage", "Publish")
        ),
        ("8 actions", _document(_allow("sns", Action=[f"sns:{name}*" for name in "abcdefgh"])), OK, SNS_QUOTAS),
        ("100 statements", _many("sns", 100), OK, SNS_QUOTAS),
        ("101 statements", _many("sns", 101), SNS_FORM, SNS_QUOTAS),
    ]  # fmt: skip
    for case, text, response, source in rows:
        new = {"TopicArn": "<new-topic>", "AttributeName": "Policy", "AttributeValue": text}
        yield "SetTopicAttributes", "Policy", case, new, response, source
        within = refused(f"Attributes Reason: {(response.text or '').removeprefix('Invalid parameter: ')}")
        given = {"Attributes": {"Policy": text}}
        yield "CreateTopic", "Attributes.Policy", case, given, within if response.code else OK, source
