"""Tests that a variable, compose and the functions' secret can set every setting, and refuse the same values.

tests/system/terraform and tests/system/helm contain the tests of Terraform and Helm.

Also tests that infra.generate.gradual changes only the intended parts of template.yaml, or no part.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.generate.blocks import MarkerError
from infra.generate.gradual import add_gradual_deployment
from infra.generate.settings import render_compose, render_defaults, render_schema, render_terraform
from penstock.lambda_runtime import environment as environment_module
from penstock.lambda_runtime.environment import ExecutionEnvironment
from penstock.lambda_runtime.secret import Secret, check_members
from penstock.settings import SETTINGS, Setting, SettingError, Settings
from tests.support.local_lambda.template import CloudFormationLoader, expand_for_each, read_balancer
from tests.support.setting_values import ACCEPTED, REFUSED

COMPOSE = (Path(__file__).parents[3] / "infra/container/compose.yaml").read_text()
EXPECTED = {setting.name: setting.parse(ACCEPTED[setting.name]) for setting in SETTINGS}
MINE = Setting(5, "What it is for.", minimum=1, maximum=9)
MINE.__set_name__(Settings, "queue_mine")


def read_values(settings: Settings) -> dict[str, object]:
    """Returns the values of the settings by name. The function removes the password that QUEUE_DATABASE_AUTH adds to
    the addresses."""
    found = {setting.name: getattr(settings, setting.attribute) for setting in SETTINGS}
    assert found["QUEUE_DATABASE_AUTH"] == "iam"
    return {
        name: value.split(" password=")[0] if name.startswith("DATABASE_") else value for name, value in found.items()
    }


def interpolate(text: str, variables: dict[str, str]) -> str:
    """Replaces variables as compose does: https://docs.docker.com/reference/compose-file/interpolation/."""
    return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: variables.get(found[1]) or found[2], text)


def test_no_accepted_value_is_a_default() -> None:
    assert [setting.name for setting in SETTINGS if EXPECTED[setting.name] == setting.default] == []


def test_variables_set_every_setting() -> None:
    assert read_values(Settings.read(ACCEPTED)) == EXPECTED


@pytest.mark.parametrize(("name", "text"), REFUSED.items())
def test_a_variable_with_a_value_that_no_way_takes(name: str, text: str) -> None:
    with pytest.raises(SettingError, match=f"^{name} must be "):
        Settings.read({name: text})


@pytest.mark.parametrize("service", ["migrate", "penstock", "workers"])
def test_compose_passes_on_every_setting(service: str) -> None:
    variables = yaml.safe_load(COMPOSE)["services"][service]["environment"]
    given = {name: interpolate(text, ACCEPTED) for name, text in variables.items()}
    assert read_values(Settings.read(given)) == EXPECTED


def test_compose_asks_for_signatures_and_else_has_the_defaults() -> None:
    variables = yaml.safe_load(COMPOSE)["services"]["workers"]["environment"]
    given = {name: interpolate(text, {}) for name, text in variables.items()}
    own = {name: text for name, text in given.items() if text}
    assert own.keys() == {"DATABASE_URL", "DATABASE_DIRECT_URL", "QUEUE_ACCESS"}
    assert Settings.read(given) == Settings.read(own)


def test_the_secret_of_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The secret takes precedence over the variables that template.yaml sets."""
    monkeypatch.setattr(Secret, "read", lambda secret: check_members(ACCEPTED))
    monkeypatch.setattr(environment_module, "build_lambda_logger", lambda level: level)
    variables = {setting.name: setting.write() for setting in SETTINGS if setting.name != "QUEUE_SECRET"}
    environment = ExecutionEnvironment({**variables, "QUEUE_SECRET": "penstock", "DATABASE_URL": ""})
    assert str(environment.logger) == "info"  # The process has not yet read the secret.
    assert read_values(environment.settings) == EXPECTED
    assert str(environment.logger) == "critical"


@pytest.mark.parametrize(("name", "text"), [*REFUSED.items(), ("QUEUE_MAX_CONECTIONS", "5")])
def test_a_secret_with_a_value_that_no_way_takes(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Secret, "read", lambda secret: check_members({name: text}))
    with pytest.raises(SettingError, match=name):
        ExecutionEnvironment({"QUEUE_SECRET": "penstock"}).settings  # noqa: B018 - reads it


def test_a_setting_is_written_in_one_place() -> None:
    """`make generate` writes a new setting to all files."""
    assert '    QUEUE_MINE = { type = "integer", default = "5", minimum = 1, maximum = 9 }' in render_terraform([MINE])
    assert '"QUEUE_MINE": {"type": "integer", "minimum": 1, "maximum": 9}' in render_schema(
        '{"properties": {}}', [MINE]
    )
    assert '"QUEUE_MINE": "5"' in render_defaults([MINE])
    assert render_compose(COMPOSE, [MINE]) == ["  QUEUE_MINE: ${QUEUE_MINE:-}"]


ROOT = Path(__file__).parents[3]
TEMPLATE = (ROOT / "template.yaml").read_text()


def read(text: str) -> dict[str, Any]:
    return dict(yaml.load(text, CloudFormationLoader))


def test_a_gradual_deployment_adds_and_changes_nothing() -> None:
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
    assert read_balancer(ROOT / "infra/alb/template.yaml")[1] == "Gateway"  # the template without a load balancer


def test_the_load_balancer_writes_access_logs_where_a_bucket_is_named() -> None:
    loaded = read((ROOT / "infra/alb/template.yaml").read_text())
    attributes = loaded["Resources"]["LoadBalancer"]["Properties"]["LoadBalancerAttributes"]
    assert {"Key": "access_logs.s3.enabled", "Value": {"Fn::If": ["Logged", "true", "false"]}} in attributes
    bucket = {"Key": "access_logs.s3.bucket", "Value": {"Ref": "LogBucket"}}
    assert {"Fn::If": ["Logged", bucket, {"Ref": "AWS::NoValue"}]} in attributes
    assert loaded["Conditions"]["Logged"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "LogBucket"}, ""]}]}
