"""Tests the stack after SAM's transform, which CloudFormation receives."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from infra.generate.gradual import ALIAS, add_gradual_deployment
from infra.generate.load_balancer import has_rule
from penstock.actions import ACTIONS
from tests.support.functions.server import ROOT
from tests.support.stack.templates import Resources, expanded, of_type, transformed

pytestmark = pytest.mark.tools


# --- limits ----------------------------------------------------------------------------------------------------------
# Tests AWS's limits for a stack, and the rights that the transformed templates grant.
#
# Sources: "Understand CloudFormation quotas" (CloudFormation User Guide); "Quotas for your Application Load Balancers"
# (Elastic Load Balancing); "Granting function access to AWS services" (AWS Lambda Developer Guide); "Security best
# practices in IAM" (IAM User Guide).

TEMPLATE = (ROOT / "template.yaml").read_text()
# The tests import the tools when they run, because only `make check-sam` installs the tools.
MADE: dict[str, Callable[[], dict[str, Any]]] = {
    "functions": lambda: transformed(TEMPLATE),
    "functions, gradually": lambda: transformed(add_gradual_deployment(TEMPLATE, "1")),
    "load balancer": lambda: expanded((ROOT / "infra/alb/template.yaml").read_text()),
    "alarms": lambda: expanded((ROOT / "infra/alarms/template.yaml").read_text()),
}
FUNCTION, PERMISSION, ROLE = "AWS::Lambda::Function", "AWS::Lambda::Permission", "AWS::IAM::Role"


@pytest.fixture
def stack() -> dict[str, Any]:
    return MADE["functions"]()


@pytest.fixture
def balancer() -> dict[str, Any]:
    return MADE["load balancer"]()


@pytest.fixture(params=MADE)
def template(request: pytest.FixtureRequest) -> dict[str, Any]:
    return MADE[request.param]()


def test_cloudformation_accepts_the_stack(template: dict[str, Any]) -> None:
    """AWS does not raise the quotas. SAM and loops multiply the templates' size."""
    text = json.dumps(template)
    assert text.count("{{resolve:") <= 60
    assert len(text) <= 1_000_000
    assert len(template["Resources"]) <= 500
    assert len(template.get("Parameters", {})) <= 200
    assert len(template.get("Outputs", {})) <= 200
    assert len(template.get("Mappings", {})) <= 200
    assert all(len(mapping) <= 200 for mapping in template.get("Mappings", {}).values())


def physical_names(template: dict[str, Any], stack: str) -> Iterator[tuple[str, str]]:
    """Yields the type and the explicit name of each resource in a stack with the given name. Explicit names must be
    unique.
    """
    for resource in template["Resources"].values():
        kind = resource["Type"].rpartition("::")[2]
        for name in {f"{kind}Name", f"{resource['Type'].split('::')[1]}Name", "LogGroupName", "Name"}:
            if (value := resource.get("Properties", {}).get(name)) is not None:
                yield resource["Type"], json.dumps(value).replace("${AWS::StackName}", stack)


def test_two_stacks_have_no_name_in_common(template: dict[str, Any]) -> None:
    """Both stacks are in one account and region. An API or function scopes the names of its stages and aliases."""
    first, second = (set(physical_names(template, stack)) for stack in ("blue", "green"))
    theirs = ("AWS::ApiGatewayV2::Stage", "AWS::Lambda::Alias")
    assert {(kind, name) for kind, name in first & second if kind not in theirs} == set()


def test_every_function_has_its_stack_in_its_name(stack: dict[str, Any]) -> None:
    names = [f["Properties"]["FunctionName"]["Fn::Sub"] for f in of_type(stack, FUNCTION).values()]
    assert len(set(names)) == len(names) > len(ACTIONS)
    assert [name for name in names if not name.startswith("${AWS::StackName}-")] == []


@pytest.mark.parametrize("template", ["functions", "load balancer"], indirect=True)
def test_only_this_stack_and_account_may_call_a_function(template: dict[str, Any]) -> None:
    """Only this stack's API and this account's load balancers can invoke a function. No permission lets a service
    invoke a function for another account."""
    permissions = of_type(template, PERMISSION)
    assert permissions
    for permission in permissions.values():
        given = permission["Properties"]
        source = json.dumps(given["SourceArn"])
        assert given["Action"] == "lambda:InvokeFunction"
        assert "${AWS::AccountId}" in source
        if given["Principal"] == "apigateway.amazonaws.com":
            assert json.dumps({"Ref": "Api"}) in source
        else:
            assert given["Principal"] == "elasticloadbalancing.amazonaws.com"
            assert given["SourceAccount"] == {"Ref": "AWS::AccountId"}


def statements(value: Any) -> Iterator[dict[str, Any]]:
    """Yields all policy statements under any of the template's conditions."""
    if isinstance(value, dict):
        if "Effect" in value:
            yield value
        else:
            for each in value.values():
                yield from statements(each)
    elif isinstance(value, list):
        for each in value:
            yield from statements(each)


def actions(statement: dict[str, Any]) -> set[str]:
    found = statement["Action"]
    return {found} if isinstance(found, str) else set(found)


def test_roles_allow_what_is_needed(stack: dict[str, Any]) -> None:
    """Each action that functions need is in one statement. "*" occurs only if the action does not support resources."""
    holders = of_type(stack, ROLE, "AWS::IAM::ManagedPolicy")
    assert len(holders) > 1
    allowed: dict[str, Any] = {}
    for holder in holders.values():
        properties = holder["Properties"]
        given = list(statements(properties.get("Policies", properties.get("PolicyDocument", []))))
        denied = {action for each in given if each["Effect"] == "Deny" for action in actions(each)}
        for each in given:
            if each["Effect"] == "Allow":
                assert not [action for action in actions(each) if "*" in action]
                assert each["Resource"] != "*" or actions(each) <= denied | {
                    "xray:PutTraceSegments",
                    "xray:PutTelemetryRecords",
                }
                allowed |= dict.fromkeys(actions(each), each["Resource"])
    assert {action for action in allowed if not action.startswith(("ec2:", "xray:"))} == {
        "logs:CreateLogStream", "logs:PutLogEvents", "secretsmanager:GetSecretValue", "kms:Decrypt",
        "lambda:InvokeFunction", "lambda:GetFunctionConfiguration", "rds-db:connect",
    }  # fmt: skip


def test_logs_of_functions_have_a_retention(stack: dict[str, Any]) -> None:
    groups = of_type(stack, "AWS::Logs::LogGroup")
    assert [g for g in groups.values() if g["Properties"]["RetentionInDays"] != {"Ref": "LogRetentionDays"}] == []
    for function in of_type(stack, FUNCTION).values():
        settings = function["Properties"]["LoggingConfig"]
        assert settings["LogGroup"]["Ref"] in groups
        assert settings["LogFormat"] == "JSON"


def test_every_open_route_leads_to_a_function_that_asks_for_signatures(stack: dict[str, Any]) -> None:
    """API Gateway has no authorizer for another service's signatures, so functions verify signatures (QUEUE_ACCESS)."""
    (api,) = of_type(stack, "AWS::ApiGatewayV2::Api").values()
    uris = {
        method["x-amazon-apigateway-integration"]["uri"]["Fn::Sub"]
        for path in api["Properties"]["Body"]["paths"].values()
        for method in path.values()
    }
    called = {uri.rpartition("${")[2].partition(".Arn}")[0] for uri in uris}
    scheduler = {f"Scheduler{action.name}" for action in ACTIONS if action.service == "scheduler"}
    assert called == {"Gateway", "Rest"} | scheduler
    functions = of_type(stack, FUNCTION)
    for name in called:
        assert functions[name]["Properties"]["Environment"]["Variables"]["QUEUE_ACCESS"] == {"Ref": "Access"}
    assert stack["Parameters"]["Access"]["Default"] == "sigv4"


def test_a_load_balancer_takes_the_rules(balancer: dict[str, Any]) -> None:
    """The limits are 100 rules, 100 target groups, and 5 values in a rule's conditions."""
    rules, groups = (
        of_type(balancer, f"AWS::ElasticLoadBalancingV2::{kind}") for kind in ("ListenerRule", "TargetGroup")
    )
    actions = [action for action in ACTIONS if has_rule(action)]
    assert len(actions) < len(rules) <= 100
    assert len(actions) < len(groups) <= 100
    for rule in rules.values():
        conditions = rule["Properties"]["Conditions"]
        values = [value for each in conditions for key in each if key != "Field" for value in each[key]["Values"]]
        assert 1 <= len(values) <= 5
    for group in groups.values():
        assert len(group["Properties"]["Targets"]) == 1


def test_an_http_api_takes_the_routes(stack: dict[str, Any]) -> None:
    """The limits are 300 routes and 300 integrations of an API ("Quotas for configuring and running an HTTP API", API
    Gateway Developer Guide). SAM gives each route an integration."""
    (api,) = of_type(stack, "AWS::ApiGatewayV2::Api").values()
    routes = [method for path in api["Properties"]["Body"]["paths"].values() for method in path]
    assert len(routes) <= 300


def test_lambda_takes_the_functions(stack: dict[str, Any]) -> None:
    """The limits are 5 layers and 4 KB of environment variables of a function ("Lambda quotas"). The text here has
    references in place of short values."""
    for function in of_type(stack, FUNCTION).values():
        assert len(function["Properties"].get("Layers", [])) <= 5
        assert len(json.dumps(function["Properties"]["Environment"]["Variables"])) <= 4_096


# --- transformed -----------------------------------------------------------------------------------------------------
# Tests template.yaml after SAM's transform, and the output from infra.generate.gradual.
#
# Sources: "Understand CloudFormation quotas" (CloudFormation User Guide): 500 resources in a template;
# "AutoPublishAlias" and "DeploymentPreference" (AWS SAM Developer Guide); "Customize HTTP API access logs" (API Gateway
# Developer Guide).

FUNCTIONS = len(ACTIONS) + 2 + 7  # The set also contains Gateway, Rest and the scheduled functions.
MOST_RESOURCES = 500


def resources_of(text: str, *parameters: str) -> Resources:
    """Returns the transformed template's resources."""
    found: Resources = transformed(text, *parameters)["Resources"]
    return found


def kinds(resources: Resources) -> Counter[str]:
    return Counter(each["Type"].removeprefix("AWS::") for each in resources.values())


def versions(resources: Resources) -> set[str]:
    return {name for name, each in resources.items() if each["Type"] == "AWS::Lambda::Version"}


def test_without_aliases_nothing_has_versions() -> None:
    found = kinds(resources_of(TEMPLATE))
    assert found["Lambda::Function"] == FUNCTIONS
    assert found["Lambda::Version"] == found["Lambda::Alias"] == found["CodeDeploy::DeploymentGroup"] == 0
    assert found.total() <= MOST_RESOURCES


def test_gradually_every_function_has_a_version_an_alias_and_a_group() -> None:
    found = kinds(resources_of(add_gradual_deployment(TEMPLATE, "1")))
    for kind in ("Lambda::Function", "Lambda::Version", "Lambda::Alias", "CodeDeploy::DeploymentGroup"):
        assert found[kind] == FUNCTIONS
    assert found.total() <= MOST_RESOURCES
    # Each function adds three resources. CodeDeploy adds an application and a role. With an alias, the gateway's second
    # route has a separate permission.
    ungradual = kinds(resources_of(TEMPLATE)).total()
    assert found.total() == ungradual + 3 * FUNCTIONS + 3
    assert f"{found.total()} in all instead of {ungradual}" in (ROOT / "docs/operate/lambda.md").read_text()


def test_every_caller_calls_a_functions_alias() -> None:
    resources = resources_of(add_gradual_deployment(TEMPLATE, "1"))
    called = [
        *(r["Properties"]["FunctionName"] for r in resources.values() if r["Type"] == "AWS::Lambda::Permission"),
        *(r["Properties"]["Target"]["Arn"] for r in resources.values() if r["Type"] == "AWS::Scheduler::Schedule"),
    ]
    assert len(called) > 12  # the actions of EventBridge Scheduler
    assert [each for each in called if not each["Ref"].endswith(f"Alias{ALIAS}")] == []
    (api,) = (r["Properties"]["Body"] for r in resources.values() if r["Type"] == "AWS::ApiGatewayV2::Api")
    integrations = [
        method["x-amazon-apigateway-integration"]["uri"]["Fn::Sub"]
        for path in api["paths"].values()
        for method in path.values()
    ]
    assert integrations
    assert [uri for uri in integrations if f"Alias{ALIAS}}}" not in uri] == []


def test_each_deployment_has_new_versions() -> None:
    """A deployment without code changes also creates new versions. Otherwise a parameter's new value would not reach an
    alias."""
    first, second = (versions(resources_of(add_gradual_deployment(TEMPLATE, release))) for release in ("1", "2"))
    assert len(first) == len(second) == FUNCTIONS
    assert not first & second


def test_codedeploy_leads_requests_to_new_versions() -> None:
    resources = resources_of(add_gradual_deployment(TEMPLATE, "1"), "Shift=Linear10PercentEvery1Minute")
    aliases = [r for r in resources.values() if r["Type"] == "AWS::Lambda::Alias"]
    assert [each for each in aliases if "CodeDeployLambdaAliasUpdate" not in each["UpdatePolicy"]] == []
    groups = [r["Properties"] for r in resources.values() if r["Type"] == "AWS::CodeDeploy::DeploymentGroup"]
    assert groups
    for group in groups:
        name, values = group["DeploymentConfigName"]["Fn::Sub"]
        assert name == "CodeDeployDefault.Lambda${ConfigName}"
        assert values == {"ConfigName": "Linear10PercentEvery1Minute"}
        assert group["AutoRollbackConfiguration"]["Enabled"] is True
        condition, none, alarms = group["AlarmConfiguration"]["Fn::If"]
        assert (condition, none) == ("NoAlarm", {})
        assert alarms == {"Enabled": True, "Alarms": [{"Name": {"Ref": "RollbackAlarm"}}]}


def test_the_http_api_logs_requests_but_nothing_of_messages() -> None:
    """Paths and query strings contain queue names and, from old clients, whole messages."""
    resources = resources_of(TEMPLATE)
    (stage,) = (r["Properties"] for r in resources.values() if r["Type"] == "AWS::ApiGatewayV2::Stage")
    condition, settings, otherwise = stage["AccessLogSettings"]["Fn::If"]
    assert (condition, otherwise) == ("Logged", {"Ref": "AWS::NoValue"})
    group = settings["DestinationArn"]["Fn::GetAtt"][0]
    assert resources[group]["Type"] == "AWS::Logs::LogGroup"
    assert resources[group]["Condition"] == "Logged"
    assert resources[group]["Properties"]["RetentionInDays"] == {"Ref": "LogRetentionDays"}
    line = json.loads(settings["Format"])
    assert {"$context.requestId", "$context.status", "$context.identity.sourceIp"} < set(line.values())
    assert not {"$context.path", "$context.rawPath", "$context.queryString"} & set(line.values())
    assert len(settings["Format"]) < 3000  # API Gateway allows a format of 3 KB.


def test_the_function_that_migrates_is_called_by_nobody_else() -> None:
    """The stack has one migration function, whose separate role reads one secret. No permission in the stack lets a
    service invoke the function.
    """
    resources = resources_of((ROOT / "infra/migrate/template.yaml").read_text())
    found = kinds(resources)
    assert found == {"Lambda::Function": 1, "Lambda::LayerVersion": 1, "IAM::Role": 1, "Logs::LogGroup": 1}
    (function,) = (r["Properties"] for r in resources.values() if r["Type"] == "AWS::Lambda::Function")
    assert (function["Timeout"], function["ReservedConcurrentExecutions"]) == (900, 1)
    (role,) = (r["Properties"] for r in resources.values() if r["Type"] == "AWS::IAM::Role")
    (policy,) = role["Policies"]
    reads, *others = policy["PolicyDocument"]["Statement"]
    assert (reads["Action"], reads["Resource"]) == ("secretsmanager:GetSecretValue", {"Ref": "MigrationSecret"})
    assert [each["Fn::If"][0] for each in others] == ["OwnSecretKey", "LogsInByIam"]
    assert "MigrationSecret" not in TEMPLATE
