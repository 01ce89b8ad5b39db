"""Tests that the program reads templates as CloudFormation does, and tests their routes and rules.

The sources are the CloudFormation User Guide, "Intrinsic function reference", "Create routes for HTTP APIs" (API
Gateway), by which the most specific route has precedence, and "Listener rules" (Application Load Balancers), by which
the lowest number has precedence.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request as HttpRequest

from benchmarks.costs.function_calls import request_of
from infra.generate.load_balancer import has_rule
from infra.generate.sam_template import name_resource
from penstock.actions import ACTIONS, BY_TARGET
from tests.support.functions.server import ROOT
from tests.support.local_lambda.__main__ import parse_arguments
from tests.support.local_lambda.environment import process_variables
from tests.support.local_lambda.events import Request, event_of
from tests.support.local_lambda.front import BALANCER, HTTP_API, FrontEnd, FrontKind, route_chooser, rule_chooser
from tests.support.local_lambda.limits import FunctionError, InvocationError, RequestTooLargeError, TooManyRequestsError
from tests.support.local_lambda.template import (
    Route,
    Rule,
    TemplateError,
    Values,
    expand_for_each,
    read_balancer,
    read_stack,
)

TEMPLATE = {
    "Parameters": {"Name": {"Default": "orders"}, "Size": {"Type": "Number"}},
    "Conditions": {"Large": {"Fn::Equals": [{"Ref": "Name"}, "orders"]}, "Other": {"Fn::Equals": ["a", "b"]}},
    "Mappings": {"Sizes": {"orders": {"Number": 7}}},
}
BUILT = """
Globals:
  Function:
    Runtime: {Ref: Runtime}
    Timeout: 30
    MemorySize: 512
    Layers: [{Ref: Core}]
    Environment:
      Variables:
        SECRET: {Fn::Sub: "{{resolve:secretsmanager:${Name}}}"}
        NAME: {Ref: Name}
Parameters:
  Runtime: {Type: String, Default: python3.12}
  Name: {Type: String, Default: penstock}
Resources:
  Core:
    Type: AWS::Serverless::LayerVersion
    Properties: {ContentUri: Core}
  Gateway:
    Type: AWS::Serverless::Function
    Properties:
      Handler: gateway.handler
      CodeUri: Gateway
      ReservedConcurrentExecutions: 5
      Events:
        Post:
          Type: HttpApi
          Properties: {Method: POST, Path: /}
  Maintain:
    Type: AWS::Serverless::Function
    Properties:
      Handler: maintain.handler
      CodeUri: Maintain
      Timeout: 60
      Events:
        EveryMinute:
          Type: ScheduleV2
          Properties: {ScheduleExpression: rate(5 minutes)}
"""


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ({"Ref": "Name"}, "orders"),
        ({"Ref": "Size"}, "3"),
        ({"Ref": "AWS::Region"}, "us-east-1"),
        ({"Ref": "Resource"}, "Resource"),
        ({"Fn::Sub": "${Name}-${AWS::Region}-${Unknown}"}, "orders-us-east-1-${Unknown}"),
        ({"Fn::If": ["Large", {"Ref": "Name"}, "small"]}, "orders"),
        ({"Fn::If": ["Other", "yes", "no"]}, "no"),
        ({"Fn::FindInMap": ["Sizes", {"Ref": "Name"}, "Number"]}, 7),
        ({"Fn::GetAtt": ["Role", "Arn"]}, "Role.Arn"),
        ({"a": [{"Ref": "Name"}], "b": 1}, {"a": ["orders"], "b": 1}),
    ],
)
def test_intrinsic_functions(value: Any, resolved: Any) -> None:
    assert Values(TEMPLATE, {"Size": "3"}).resolve(value) == resolved


def test_unknown_intrinsic_functions_are_refused() -> None:
    with pytest.raises(TemplateError, match="Fn::ImportValue"):
        Values(TEMPLATE, {}).resolve({"Fn::ImportValue": "x"})


def test_loops_are_written_out() -> None:
    outputs = {"${Name}Queue": {"Type": "Q", "Properties": {"Name": {"Fn::Sub": "${Name}-x"}, "Own": {"Ref": "Name"}}}}
    assert expand_for_each({"Fn::ForEach::Loop": ["Name", ["A", "B"], outputs], "Other": {}}) == {
        "AQueue": {"Type": "Q", "Properties": {"Name": {"Fn::Sub": "A-x"}, "Own": "A"}},
        "BQueue": {"Type": "Q", "Properties": {"Name": {"Fn::Sub": "B-x"}, "Own": "B"}},
        "Other": {},
    }


def test_a_stack(tmp_path: Path) -> None:
    (tmp_path / "template.yaml").write_text(BUILT)
    stack = read_stack(tmp_path, {}, {"DATABASE_URL": "postgresql://"})
    gateway, maintain = stack.functions["Gateway"], stack.functions["Maintain"]
    assert (gateway.handler, gateway.code, gateway.layers) == (
        "gateway.handler",
        tmp_path / "Gateway",
        (tmp_path / "Core",),
    )
    assert (gateway.timeout_seconds, gateway.memory_mib, gateway.reserved_concurrency) == (30, 512, 5)
    assert (maintain.timeout_seconds, maintain.reserved_concurrency) == (60, None)
    assert gateway.variables == {"NAME": "penstock", "DATABASE_URL": "postgresql://"}
    assert stack.routes == (Route("POST", "/", "Gateway"),)
    assert stack.schedules == (("Maintain", 300.0),)


def test_specific_routes_come_first() -> None:
    routes = [
        Route("ANY", "$default", "default"),
        Route("GET", "/v1/{proxy+}", "rest"),
        Route("ANY", "/v1/queues", "any"),
        Route("GET", "/v1/queues", "queues"),
        Route("GET", "/v1/{name}", "name"),
    ]
    choose = route_chooser(routes)
    found = [choose(Request("GET", path)) for path in ("/v1/queues", "/v1/x", "/v1/x/y", "/v2")]
    assert found == ["queues", "name", "rest", "default"]
    assert choose(Request("PUT", "/v1/queues")) == "any"
    assert choose(Request("PUT", "/v1/x")) == "default"


def test_the_first_matching_rule_chooses_the_function() -> None:
    rules = [
        Rule(1, "send", "X-Amz-Target", ("AmazonSQS.SendMessage",), (), ()),
        Rule(2, "schedules", "", (), ("/schedules*",), ("GET",)),
    ]
    choose = rule_chooser(rules, "gateway")
    target = (("x-amz-target", "amazonsqs.sendmessage"),)
    assert choose(Request(headers=target)) == "send"
    assert choose(Request("GET", "/schedules/a")) == "schedules"
    assert choose(Request("POST", "/schedules/a")) == "gateway"


def test_every_action_of_json_has_a_rule() -> None:
    rules, default = read_balancer(ROOT / "infra/alb/template.yaml")
    choose = rule_chooser(rules, default)
    for target, action in BY_TARGET.items():
        request = Request(headers=(("X-Amz-Target", target.decode()),))
        assert choose(request) == f"{action.service.capitalize()}{action.name}"
    assert choose(Request(headers=(("X-Amz-Target", "AmazonSQS.Nothing"),))) == default == "Gateway"
    assert len({rule.priority for rule in rules}) == len(rules)


def test_every_action_of_rest_json_has_a_rule() -> None:
    choose = rule_chooser(*read_balancer(ROOT / "infra/alb/template.yaml"))
    routed = [action for action in ACTIONS if action.route]
    assert routed
    for action in routed:
        method, path = action.route.split()
        asked = path.replace("{Name}", "a").replace("{ResourceArn}", "arn%3Aaws%3Ascheduler%2Fa")
        assert choose(Request(method, asked)) == f"{action.service.capitalize()}{action.name}"
    assert choose(Request("PATCH", "/schedules/a")) == choose(Request("GET", "/schedulesx")) == "Gateway"


def test_the_gateway_gets_what_no_other_function_gets() -> None:
    """`$default` has the lowest priority ("Create routes for HTTP APIs in API Gateway", API Gateway Developer
    Guide).
    """
    routes = read_stack(ROOT, {}, {}).routes
    choose, balance = route_chooser(routes), rule_chooser(*read_balancer(ROOT / "infra/alb/template.yaml"))
    for method, path in (("GET", "/v1/queues"), ("POST", "/v1/queues"), ("GET", "/v1/queues/a/messages")):
        assert choose(Request(method, path)) == balance(Request(method, path)) == "Rest"
    encoded = Request("GET", "/%76%31/queues")  # The gateway redirects the load balancer's request to /v1/queues.
    assert (choose(encoded), balance(encoded)) == ("Rest", "Gateway")
    queue = "/000000000000/orders"
    for path in ("/", queue, f"{queue}/", f"{queue}//", f"/eu-west-1{queue}", "/orders", "/a/b/c/d"):
        assert choose(Request("POST", path)) == balance(Request("POST", path)) == "Gateway"
    assert choose(Request("GET", "/SimpleNotificationService.pem")) == "Gateway"
    assert choose(Request("GET", "/schedules/a")) == "SchedulerGetSchedule"


def test_operations_of_cbor_reach_the_gateway() -> None:
    path = "/service/AmazonSQS/operation/SendMessage"
    stack = read_stack(ROOT, {}, {})
    rules, _ = read_balancer(ROOT / "infra/alb/template.yaml")
    assert Route("POST", "/service/{path+}", "Gateway") in stack.routes
    assert [rule.function for rule in rules if rule.paths == ("/service/*",)] == ["Gateway"]
    choose, balance = route_chooser(stack.routes), rule_chooser(rules, "nothing")
    assert choose(Request("POST", path)) == balance(Request("POST", path)) == "Gateway"
    for action in ("PutEvents", "PutRawEvents"):
        publishing = Request("POST", f"/service/AWSEventsV2/operation/{action}")
        assert (choose(publishing), balance(publishing)) == ("Gateway", f"Events{action}")
    others = ("AWSEventsV2/operation/PutResourcePolicy", "AmazonSQS/operation/PutEvents")
    assert {balance(Request("POST", f"/service/{other}")) for other in others} == {"Gateway"}
    # A prefix reaches the gateway by the default of both.
    assert choose(Request("POST", f"/a{path}")) == "Gateway"


def test_the_load_balancer_is_within_its_quotas() -> None:
    """A load balancer has at most 100 rules, 100 target groups, and 5 values of conditions in a rule ("Quotas for your
    Application Load Balancers"). An HTTP API has at most 300 routes ("Quotas for configuring and running an HTTP
    API")."""
    rules, default = read_balancer(ROOT / "infra/alb/template.yaml")
    assert len([action for action in ACTIONS if has_rule(action)]) < len(rules) <= 100
    assert len({default, *(rule.function for rule in rules)}) <= 100
    assert all(len(rule.values) + len(rule.paths) + len(rule.methods) <= 5 for rule in rules)
    assert len(read_stack(ROOT, {}, {}).routes) <= 300


def test_the_benchmark_has_a_call_of_every_function_with_a_rule() -> None:
    functions = [name_resource(action) for action in ACTIONS if has_rule(action)]
    assert [name for name in ("Gateway", "Rest", *functions) if request_of(name, {}) is None] == []
    assert request_of("Maintain", {}) is None


# --- limits ----------------------------------------------------------------------------------------------------------
# Tests AWS's limits for front services and for deployments, with values at the limit and one above the limit.
#
# "Quotas for configuring and running an HTTP API in API Gateway",
# https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html payload size 10 MB; maximum
# integration timeout 30 seconds "Use Lambda functions as targets of an Application Load Balancer",
# https://docs.aws.amazon.com/elasticloadbalancing/latest/application/lambda-functions.html request body 1 MB,
# response JSON 1 MB; "Troubleshoot your Application Load Balancers" gives 413 and 502 for more "Lambda quotas",
# https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html 6 MB of a synchronous invocation each way;
# 250 MB of contents of a deployment package, including layers "How do I troubleshoot issues for API Gateway
# endpoints that integrate with Lambda?", https://repost.aws/knowledge-center/api-gateway-internal-server-error a
# throttled function may be an Internal server error


MB = 1024 * 1024
KINDS = {"http_api": HTTP_API, "balancer": BALANCER}
LIMITED = """
Resources:
  Core:
    Type: AWS::Serverless::LayerVersion
    Properties: {ContentUri: Core}
  Send:
    Type: AWS::Serverless::Function
    Properties:
      Handler: send.handler
      CodeUri: Send
      Runtime: python3.12
      Timeout: 30
      MemorySize: 512
      Layers: [{Ref: Core}]
      LOGGING
"""


def result(body: str) -> bytes:
    """Returns a function's response in the runtime's JSON."""
    return json.dumps({"statusCode": 200, "body": body, "isBase64Encoded": False}).encode()


class Invoked:
    """Imitates a function that takes `seconds` and then returns the given result, or fails."""

    def __init__(self, outcome: bytes | InvocationError = b"", seconds: float = 0) -> None:
        self._outcome = outcome or result("")
        self._seconds = seconds
        self.events: list[Mapping[str, Any]] = []
        self.ended = 0

    async def __call__(self, name: str, event: Mapping[str, Any]) -> bytes:
        self.events.append(event)
        await asyncio.sleep(self._seconds)
        self.ended += 1
        if isinstance(self._outcome, InvocationError):
            raise self._outcome
        return self._outcome


async def status_of(kind: FrontKind, invoked: Invoked, body: bytes = b"") -> int:
    """Returns the status of the response to a request with the given body."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    scope = {
        "type": "http",
        "method": "POST",
        "scheme": "http",
        "path": "/",
        "raw_path": b"/",
        "query_string": b"",
        "headers": [],
        "server": ("127.0.0.1", 80),
    }
    front = FrontEnd(kind, lambda _: "Send", invoked)
    return (await front.response(HttpRequest(scope, receive))).status_code


@pytest.mark.parametrize(
    ("kind", "size", "status"),
    [
        ("http_api", 10 * MB, 200),
        ("http_api", 10 * MB + 1, 413),
        ("balancer", 1 * MB, 200),
        ("balancer", 1 * MB + 1, 413),
    ],
)
async def test_bodies_of_requests(kind: str, size: int, status: int) -> None:
    """The limit applies to the bytes from the client, not to the text of the event."""
    invoked = Invoked()
    assert await status_of(KINDS[kind], invoked, bytes(size)) == status
    assert len(invoked.events) == (status == 200)


@pytest.mark.parametrize(
    ("kind", "size", "status"), [("http_api", 6 * MB, 200), ("balancer", 1 * MB, 200), ("balancer", 1 * MB + 1, 502)]
)
async def test_a_result_over_the_limit_is_refused(kind: str, size: int, status: int) -> None:
    """tests/system/local_lambda tests that a result of more than 6 MB makes the invocation fail."""
    outcome = result("x" * (size - len(result(""))))
    assert len(outcome) == size
    assert await status_of(KINDS[kind], Invoked(outcome)) == status


@pytest.mark.parametrize(
    ("kind", "outcome", "status"),
    [
        ("http_api", FunctionError("x"), 500),
        ("http_api", TooManyRequestsError("x"), 500),
        ("http_api", RequestTooLargeError("x"), 413),
        ("balancer", FunctionError("x"), 502),
        ("balancer", TooManyRequestsError("x"), 502),
    ],
)
async def test_invocations_without_a_result(kind: str, outcome: InvocationError, status: int) -> None:
    assert await status_of(KINDS[kind], Invoked(outcome)) == status


@pytest.mark.parametrize(
    ("kind", "seconds", "status"), [("http_api", 29.9, 200), ("http_api", 30.1, 503), ("balancer", 899, 200)]
)
@pytest.mark.virtual_time
async def test_how_long_a_front_waits(kind: str, seconds: float, status: int) -> None:
    """The function continues after the timeout, as on Lambda."""
    invoked = Invoked(seconds=seconds)

    response = await status_of(KINDS[kind], invoked)
    assert invoked.ended == (status == 200)
    await asyncio.sleep(1)
    assert invoked.ended == 1
    assert response == status


@pytest.mark.parametrize(("more", "is_allowed"), [(0, True), (1, False)])
def test_code_and_layers_together(tmp_path: Path, more: int, is_allowed: bool) -> None:
    (tmp_path / "template.yaml").write_text(LIMITED.replace("LOGGING", ""))
    for name, size in (("Send/send.py", 50 * MB), ("Core/python/core.so", 200 * MB + more)):
        file = tmp_path / name
        file.parent.mkdir(parents=True)
        with file.open("wb") as sparse:
            sparse.truncate(size)
    if is_allowed:
        assert read_stack(tmp_path, {}, {}).functions["Send"].layers == (tmp_path / "Core",)
    else:
        with pytest.raises(TemplateError, match=r"Send and its layers have 262144001 bytes"):
            read_stack(tmp_path, {}, {})


@pytest.mark.parametrize(
    ("logging", "form", "level"),
    [
        ("", "Text", None),
        ("LoggingConfig: {LogFormat: JSON}", "JSON", None),
        ("LoggingConfig: {LogFormat: JSON, ApplicationLogLevel: INFO}", "JSON", "INFO"),
        ("LoggingConfig: {LogGroup: x}", "Text", None),
    ],
)
def test_the_format_of_logs_is_that_of_the_template(tmp_path: Path, logging: str, form: str, level: str | None) -> None:
    """The format is Text unless the template sets JSON (CloudFormation, "AWS::Lambda::Function LoggingConfig").
    Functions read the format of the log from a variable.
    """
    (tmp_path / "template.yaml").write_text(LIMITED.replace("LOGGING", logging))
    variables = process_variables(read_stack(tmp_path, {}, {}).functions["Send"], "127.0.0.1:1/1")
    assert variables["AWS_LAMBDA_LOG_FORMAT"] == form
    assert variables.get("AWS_LAMBDA_LOG_LEVEL") == level


def test_the_http_api_decodes_the_path() -> None:
    event = event_of("http_api", Request("GET", "/v1/schedules/a%20b%2Fc"))
    assert event["rawPath"] == "/v1/schedules/a b/c"
    assert event_of("function_url", Request("GET", "/a%20b"))["rawPath"] == "/a%20b"


def test_the_functions_may_have_another_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the folder is in use, the error message names the option."""
    monkeypatch.setattr("sys.argv", ["lambda", "--data-dir", "/tmp/other"])
    assert parse_arguments().data_dir == Path("/tmp/other")
