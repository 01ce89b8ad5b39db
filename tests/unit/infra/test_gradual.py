"""infra.generate.gradual changes template.yaml where it means to, or not at all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.generate.blocks import MarkerError
from infra.generate.gradual import add_gradual_deployment
from tests.support.local_lambda.balancer import CloudFormationLoader, read_balancer
from tests.support.local_lambda.values import expand_for_each

ROOT = Path(__file__).parents[3]
TEMPLATE = (ROOT / "template.yaml").read_text()


def read(text: str) -> dict[str, Any]:
    return dict(yaml.load(text, CloudFormationLoader))


def test_it_adds_and_changes_nothing() -> None:
    before, after = read(TEMPLATE), read(add_gradual_deployment(TEMPLATE, "2027-01-01 12:00:00"))
    assert before["Resources"] == after["Resources"]
    assert after["Parameters"].keys() - before["Parameters"].keys() == {"Shift", "RollbackAlarm"}
    own, added = before["Globals"]["Function"], after["Globals"]["Function"]
    assert added.keys() - own.keys() == {"AutoPublishAlias", "DeploymentPreference"}
    variables = {**own["Environment"]["Variables"], "PENSTOCK_RELEASE": "2027-01-01 12:00:00"}
    assert added["Environment"]["Variables"] == variables


@pytest.mark.parametrize("line", ["\nConditions:\n", "\nGlobals:\n", "    CodeUri: functions/\n"])
def test_another_template_is_refused(line: str) -> None:
    for text in (TEMPLATE.replace(line, "\n"), TEMPLATE + line):
        with pytest.raises(MarkerError):
            add_gradual_deployment(text, "1")


def test_behind_the_load_balancer_every_function_may_be_an_alias() -> None:
    text = (ROOT / "infra/alb/template.yaml").read_text()
    loaded = read(text)
    assert re.fullmatch(loaded["Parameters"]["Qualifier"]["AllowedPattern"], ":live")
    for resource in expand_for_each(loaded["Resources"]).values():
        properties = resource["Properties"]
        if resource["Type"] == "AWS::Lambda::Permission":
            assert properties["FunctionName"]["Fn::Sub"].endswith("${Qualifier}")
        if resource["Type"] == "AWS::ElasticLoadBalancingV2::TargetGroup":
            (target,) = properties["Targets"]
            assert target["Id"]["Fn::Sub"].endswith("${Qualifier}")
    assert read_balancer(ROOT / "infra/alb/template.yaml")[1] == "Gateway"  # without one


def test_the_load_balancer_writes_access_logs_where_a_bucket_is_named() -> None:
    loaded = read((ROOT / "infra/alb/template.yaml").read_text())
    attributes = loaded["Resources"]["LoadBalancer"]["Properties"]["LoadBalancerAttributes"]
    assert {"Key": "access_logs.s3.enabled", "Value": {"Fn::If": ["Logged", "true", "false"]}} in attributes
    bucket = {"Key": "access_logs.s3.bucket", "Value": {"Ref": "LogBucket"}}
    assert {"Fn::If": ["Logged", bucket, {"Ref": "AWS::NoValue"}]} in attributes
    assert loaded["Conditions"]["Logged"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "LogBucket"}, ""]}]}
