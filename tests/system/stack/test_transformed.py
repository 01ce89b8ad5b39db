"""Checks the stack as CloudFormation gets it after SAM's transform: template.yaml, and the output of
infra.generate.gradual.

The sources are "Understand CloudFormation quotas" (CloudFormation User Guide): 500 resources in a template;
"AutoPublishAlias" and "DeploymentPreference" (AWS SAM Developer Guide); and "Customize HTTP API access logs" (API
Gateway Developer Guide).
"""

from __future__ import annotations

import json
from collections import Counter

import pytest

from infra.generate.gradual import ALIAS, add_gradual_deployment
from penstock.actions import ACTIONS
from tests.support.functions.server import ROOT
from tests.support.stack.templates import Resources, transformed

pytestmark = pytest.mark.tools

TEMPLATE = (ROOT / "template.yaml").read_text()
FUNCTIONS = len(ACTIONS) + 2 + 6  # Gateway, Rest and the scheduled ones are added.
MOST_RESOURCES = 500


def resources_of(text: str, *parameters: str) -> Resources:
    """Returns the resources after the transform."""
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
    # Each function has three more, and there are an application of CodeDeploy and its role.
    ungradual = kinds(resources_of(TEMPLATE)).total()
    assert found.total() == ungradual + 3 * FUNCTIONS + 2
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
    """A deployment that changes no code has them too. Otherwise a parameter's new value would reach no alias."""
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
    """Paths and query strings have names of queues and, from old clients, whole messages."""
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
    assert len(settings["Format"]) < 3000  # API Gateway accepts 3 KB.


def test_the_function_that_migrates_is_called_by_nobody_else() -> None:
    """The stack has one function, whose separate role reads one secret. Nothing invokes it."""
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
