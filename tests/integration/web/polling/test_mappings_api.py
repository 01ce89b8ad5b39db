"""Tests CreateEventSourceMapping and the related actions with boto3.

The sources are botocore's model lambda/2015-03-31, "CreateEventSourceMapping" (AWS Lambda API reference), and "Creating
and configuring an Amazon SQS event source mapping" (AWS Lambda Developer Guide).
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError

from tests.support.mappings.harness import Harness


def refused(call: Any, **members: Any) -> tuple[str, int, str]:
    with pytest.raises(ClientError) as caught:
        call(**members)
    response = caught.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Message"]


def test_a_mapping_lives_and_dies(harness: Harness) -> None:
    _, arn = harness.queue()
    name = harness.function(lambda _: None)
    made = harness.client.create_event_source_mapping(
        EventSourceArn=arn, FunctionName=name, BatchSize=7, MaximumBatchingWindowInSeconds=1, Enabled=False,
        ScalingConfig={"MaximumConcurrency": 8}, FunctionResponseTypes=["ReportBatchItemFailures"],
        FilterCriteria={"Filters": [{"Pattern": '{"body": {"a": [1]}}'}]}, Tags={"team": "a"},
    )  # fmt: skip
    assert made["State"] == "Disabled"
    assert made["ResponseMetadata"]["HTTPStatusCode"] == 202
    shown = harness.get(made["UUID"])
    account = arn.split(":")[4]
    assert {key: value for key, value in shown.items() if key not in ("ResponseMetadata", "LastModified")} == {
        "UUID": made["UUID"],
        "BatchSize": 7,
        "MaximumBatchingWindowInSeconds": 1,
        "EventSourceArn": arn,
        "FunctionArn": f"arn:aws:lambda:us-east-1:{account}:function:{name}",
        "FilterCriteria": {"Filters": [{"Pattern": '{"body": {"a": [1]}}'}]},
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "ScalingConfig": {"MaximumConcurrency": 8},
        "State": "Disabled",
        "StateTransitionReason": "USER_INITIATED",
        "EventSourceMappingArn": f"arn:aws:lambda:us-east-1:{account}:event-source-mapping:{made['UUID']}",
    }
    updated = harness.client.update_event_source_mapping(UUID=made["UUID"], Enabled=True, BatchSize=3)
    assert (updated["State"], updated["BatchSize"]) == ("Enabling", 3)
    shown = harness.get(made["UUID"])
    assert (shown["State"], shown["BatchSize"], shown["ScalingConfig"]) == ("Enabled", 3, {"MaximumConcurrency": 8})
    assert harness.client.delete_event_source_mapping(UUID=made["UUID"])["State"] == "Deleting"
    assert refused(harness.client.get_event_source_mapping, UUID=made["UUID"])[:2] == ("ResourceNotFoundException", 404)


def test_changes_at_the_same_time_keep_each_others_members(harness: Harness) -> None:
    _, arn = harness.queue()
    mapping = harness.map(arn, harness.function(lambda _: None), Enabled=False)
    changes: list[dict[str, Any]] = [
        {"BatchSize": 3},
        {"ScalingConfig": {"MaximumConcurrency": 9}},
        {"FilterCriteria": {"Filters": [{"Pattern": '{"body": ["a"]}'}]}},
        {"FunctionResponseTypes": ["ReportBatchItemFailures"]},
    ]
    for _ in range(5):
        harness.client.update_event_source_mapping(
            UUID=mapping, BatchSize=1, ScalingConfig={}, FilterCriteria={}, FunctionResponseTypes=[]
        )
        with ThreadPoolExecutor(len(changes)) as threads:
            list(
                threads.map(lambda change: harness.client.update_event_source_mapping(UUID=mapping, **change), changes)
            )
        shown = harness.get(mapping)
        assert {name: shown.get(name) for change in changes for name in change} == {
            name: value for change in changes for name, value in change.items()
        }


def test_a_new_mapping_has_the_defaults_of_aws(harness: Harness) -> None:
    """AWS's page says "The default value for SQS is 10" and "the default is 0 seconds". A new mapping is enabled."""
    _, arn = harness.queue()
    shown = harness.get(harness.map(arn, harness.function(lambda _: None)))
    assert (shown["BatchSize"], shown["MaximumBatchingWindowInSeconds"], shown["State"]) == (10, 0, "Enabled")


def test_lists_by_queue_by_function_and_page_by_page(harness: Harness) -> None:
    _, arn = harness.queue()
    names = [harness.function(lambda _: None) for _ in range(3)]
    made = [harness.map(arn, name) for name in names]
    pages = harness.client.get_paginator("list_event_source_mappings").paginate(
        EventSourceArn=arn, PaginationConfig={"PageSize": 2}
    )
    assert [len(page["EventSourceMappings"]) for page in pages] == [2, 1]
    found = harness.client.list_event_source_mappings(FunctionName=names[1])["EventSourceMappings"]
    assert [mapping["UUID"] for mapping in found] == [made[1]]


def test_a_mapping_has_the_tags_that_requests_set_and_remove(harness: Harness) -> None:
    _, arn = harness.queue()
    made = harness.map(arn, harness.function(lambda _: None), Tags={"a": "1", "b": "2"})
    resource = harness.get(made)["EventSourceMappingArn"]
    response = harness.client.tag_resource(Resource=resource, Tags={"b": "3", "c": "4"})
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 204
    harness.client.untag_resource(Resource=resource, TagKeys=["a"])
    assert harness.client.list_tags(Resource=resource)["Tags"] == {"b": "3", "c": "4"}
    other = resource[:-1] + ("0" if resource[-1] != "0" else "1")
    response = ("ResourceNotFoundException", 404, f"Event source mapping not found: {other}")
    assert refused(harness.client.list_tags, Resource=other) == response
    assert refused(harness.client.tag_resource, Resource=other, Tags={"a": "1"}) == response
    assert refused(harness.client.untag_resource, Resource=other, TagKeys=["a"]) == response


TAGGED = (
    r"arn:(aws[a-zA-Z-]*):lambda:(eusc-)?[a-z]{2}((-gov)|(-iso([a-z]?)))?-[a-z]+-\d{1}:\d{12}:(function:[a-zA-Z0-9-_]+"
    r"(:(\$LATEST|[a-zA-Z0-9-_]+))?|layer:([a-zA-Z0-9-_]+)|code-signing-config:csc-[a-z0-9]{17}|event-source-mapping:"
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|capacity-provider:[a-zA-Z0-9-_]+)"
)


@pytest.mark.parametrize("form", ["event-source-mapping:{}:alias", "foobar:{}", "event-source-mapping:x", "x"])
def test_tags_of_no_arn(harness: Harness, form: str) -> None:
    """The text was recorded at AWS. The ARN of another account is valid, but does not belong to a mapping of the
    caller's account.
    """
    start = "arn:aws:lambda:us-east-1:000000000000:"
    arn = start + form.format("3fa85f64-5717-4562-b3fc-2c963f66afa6")
    text = (
        f"1 validation error detected: Value '{arn}' at 'resource' failed to satisfy constraint: "
        f"Member must satisfy regular expression pattern: {TAGGED}"
    )
    assert refused(harness.client.list_tags, Resource=arn) == ("ValidationException", 400, text)
    other = "arn:aws:lambda:us-east-1:111122223333:event-source-mapping:3fa85f64-5717-4562-b3fc-2c963f66afa6"
    assert refused(harness.client.list_tags, Resource=other)[:2] == ("ResourceNotFoundException", 404)


def test_one_mapping_from_a_queue_to_a_function(harness: Harness) -> None:
    _, arn = harness.queue()
    name = harness.function(lambda _: None)
    made = harness.map(arn, name)
    arn_of_function = f"arn:aws:lambda:us-east-1:000000000000:function:{name}"
    for function in (name, f"{name}:$LATEST", arn_of_function, f"{arn_of_function}:$LATEST"):
        text = (
            f'An event source mapping with SQS arn (" {arn} ") and function (" {function} ") already exists. '
            f"Please update or delete the existing mapping with UUID {made}"
        )
        call = harness.client.create_event_source_mapping
        response = ("ResourceConflictException", 409, text)
        assert refused(call, EventSourceArn=arn, FunctionName=function) == response


FILTER = "Invalid filter pattern definition."
FOREIGN = "arn:aws:sqs:us-east-1:111122223333:q"


@pytest.mark.parametrize(
    ("members", "text"),
    [
        *(
            ({"FilterCriteria": {"Filters": [{"Pattern": pattern}]}}, FILTER)
            for pattern in ("null", '"simple string"', "x", '{"eventSource":"aws:sqs"}', '{"eventSource":[]}')
        ),
        ({"EventSourceArn": None}, "Unrecognized event source."),
        ({"EventSourceArn": "x"}, "Unrecognized event source."),
        *(
            (
                {"DestinationConfig": {way: {"Destination": FOREIGN}}},
                "Unsupported DestinationConfig parameter for given event source mapping type.",
            )
            for way in ("OnSuccess", "OnFailure")
        ),
        ({"FunctionName": "missing"}, "Function does not exist"),
        ({"FunctionName": "missing", "EventSourceArn": FOREIGN}, "Function does not exist"),
        ({"FunctionName": "missing:live", "BatchSize": 11}, "Function does not exist"),
    ],
)
def test_texts_as_recorded_at_aws(harness: Harness, members: dict[str, Any], text: str) -> None:
    harness.functions.missing |= {"missing", "missing:live"}
    given = {"EventSourceArn": harness.queue()[1], "FunctionName": "f", **members}
    given = {name: value for name, value in given.items() if value is not None}
    response = refused(harness.client.create_event_source_mapping, **given)
    assert response == ("InvalidParameterValueException", 400, text)


def test_a_mapping_cannot_change_to_a_missing_function(harness: Harness) -> None:
    harness.functions.missing.add("missing")
    call = harness.client.update_event_source_mapping
    response = refused(call, UUID=harness.map_of_nothing(), FunctionName="missing")
    assert response == ("InvalidParameterValueException", 400, "Function does not exist")


NOWHERE = "3fa85f64-5717-4562-b3fc-2c963f66afa6"


def test_bodies_of_errors(harness: Harness) -> None:
    """The bodies of errors have the members in botocore's model, because the typed errors of the SDKs read Type, and
    message or Message.
    """
    url = f"{harness.service.url}/2015-03-31/event-source-mappings/"
    arn = harness.queue()[1]
    harness.map(arn, "f", Enabled=False)
    for response, status, members in (
        (httpx.post(url, json={"FunctionName": "f"}), 400, {"Type", "message"}),
        (httpx.post(url, json={"FunctionName": "f", "EventSourceArn": arn}), 409, {"Type", "message"}),
        (httpx.get(url + NOWHERE), 404, {"Type", "Message"}),
        (httpx.post(url, json={"FunctionName": ""}), 400, {"message"}),
    ):
        body = response.json()
        assert (response.status_code, body.keys(), body.get("Type", "User")) == (status, members, "User")


def test_members_without_effect_are_read_back(harness: Harness) -> None:
    """Tools for infrastructure as code set the members for provisioned mode, metrics and keys."""
    given: dict[str, Any] = {
        "ProvisionedPollerConfig": {"MinimumPollers": 2, "MaximumPollers": 10_000},
        "MetricsConfig": {"Metrics": ["EventCount"]},
        "KMSKeyArn": "arn:aws:kms:us-east-1:000000000000:key/k",
    }
    uuid = harness.map(harness.queue()[1], "f", Enabled=False, **given)
    shown = harness.get(uuid)
    assert {name: shown[name] for name in given} == given
    harness.client.update_event_source_mapping(
        UUID=uuid, ProvisionedPollerConfig={}, MetricsConfig={"Metrics": []}, KMSKeyArn=""
    )
    shown = harness.get(uuid)
    assert {name: shown[name] for name in given if name in shown} == {"MetricsConfig": {"Metrics": []}}


@pytest.mark.parametrize(
    ("fifo", "members"),
    [
        (False, {"BatchSize": 11}),  # A batch of 11 messages needs a batching window of at least one second.
        (True, {"BatchSize": 11}),
        (True, {"MaximumBatchingWindowInSeconds": 1}),
        (False, {"StartingPosition": "LATEST"}),
        (False, {"FilterCriteria": {"Filters": [{"Pattern": "{"}]}}),
        (False, {"FilterCriteria": {"Filters": [{"Pattern": ""}]}}),
        (False, {"FilterCriteria": {"Filters": [{"Pattern": "{}"}] * 6}}),
        (False, {"FunctionName": "arn:aws:lambda:us-east-1:999999999999:function:f"}),
        (False, {"FunctionName": "arn:aws:lambda:eu-west-1:000000000000:function:f"}),
        (False, {"EventSourceArn": "arn:aws:sqs:us-east-1:000000000000:nowhere"}),
        (False, {"EventSourceArn": "arn:aws:kinesis:us-east-1:000000000000:stream/s"}),
        (False, {"ProvisionedPollerConfig": {"MinimumPollers": 1}}),
        (False, {"ProvisionedPollerConfig": {"MaximumPollers": 1}}),
        (False, {"ProvisionedPollerConfig": {"MinimumPollers": 5, "MaximumPollers": 4}}),
        (False, {"ProvisionedPollerConfig": {"PollerGroupName": "a"}}),
    ],
)
def test_values_that_cannot_be(harness: Harness, fifo: bool, members: dict[str, Any]) -> None:
    _, arn = harness.queue(**({"FifoQueue": "true"} if fifo else {}))
    given = {"EventSourceArn": arn, "FunctionName": "f", **members}
    assert refused(harness.client.create_event_source_mapping, **given)[:2] == ("InvalidParameterValueException", 400)


@pytest.mark.parametrize(
    "members",
    [
        {"BatchSize": 0},
        {"BatchSize": 10_001},
        {"MaximumBatchingWindowInSeconds": 301},
        {"ScalingConfig": {"MaximumConcurrency": 1}},
        {"ScalingConfig": {"MaximumConcurrency": 1001}},
        {"FunctionResponseTypes": ["Other"]},
        {"ProvisionedPollerConfig": {"MinimumPollers": 0}},
        {"ProvisionedPollerConfig": {"MinimumPollers": 201}},
        {"ProvisionedPollerConfig": {"MaximumPollers": 10_001}},
        {"MetricsConfig": {"Metrics": ["Other"]}},
        {"MetricsConfig": {"Metrics": ["EventCount"] * 4}},
        {"KMSKeyArn": "x"},
        {"FilterCriteria": {"Filters": [{"Pattern": "x" * 4097}]}},
    ],
)
def test_limits_of_the_model(harness: Harness, members: dict[str, Any]) -> None:
    """The test sends the requests unchanged, because botocore would refuse some of them."""
    body = {"EventSourceArn": harness.queue()[1], "FunctionName": "f", **members}
    response = httpx.post(f"{harness.service.url}/2015-03-31/event-source-mappings/", json=body)
    assert (response.status_code, response.headers["x-amzn-errortype"]) == (400, "ValidationException")


MAPPINGS = "2015-03-31/event-source-mappings/"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "kind"),
    [
        ("POST", MAPPINGS, "{", 400, "SerializationException"),
        ("POST", MAPPINGS, '{"BatchSize":"x"}', 400, "SerializationException"),
        ("PATCH", MAPPINGS, "{}", 404, "UnknownOperationException"),
        ("GET", "2015-03-31/functions/", "", 404, "UnknownOperationException"),
        ("POST", "2015-03-31/functions/f/invocations", "{}", 404, "UnknownOperationException"),
        ("GET", "2015-03-31", "", 404, "UnknownOperationException"),
        ("GET", "2018-10-31/layers", "", 404, "UnknownOperationException"),
    ],
)
def test_errors_have_the_members_of_lambda(
    harness: Harness, method: str, path: str, body: str, status: int, kind: str
) -> None:
    response = httpx.request(method, f"{harness.service.url}/{path}", content=body)
    assert (response.status_code, response.headers["x-amzn-errortype"]) == (status, kind)
    assert response.json().keys() == ({"Message", "Type"} if status == 400 else {"Message"})


def test_a_mapping_that_is_not_there(harness: Harness) -> None:
    uuid = "3fa85f64-5717-4562-b3fc-2c963f66afa6"
    for call in (
        harness.client.get_event_source_mapping,
        harness.client.update_event_source_mapping,
        harness.client.delete_event_source_mapping,
    ):
        assert refused(call, UUID=uuid)[:2] == ("ResourceNotFoundException", 404)
