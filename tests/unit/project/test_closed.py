"""Every deployment asks for signatures unless somebody says otherwise; only what stays on one machine is open."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.actions import ACTIONS
from penstock.settings import SETTINGS, Settings
from tests.support.local_lambda.__main__ import PARAMETERS
from tests.support.local_lambda.balancer import CloudFormationLoader
from tests.support.local_lambda.values import expand_for_each

ROOT = Path(__file__).parents[3]
SECRETS = ("DATABASE_URL", "DATABASE_DIRECT_URL", *(each.name for each in SETTINGS if each.secret))


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    # S506: it is a SafeLoader
    loaded: dict[str, Any] = yaml.load((ROOT / "template.yaml").read_text(), CloudFormationLoader)
    return loaded


def test_a_stack_of_functions_asks_for_signatures(template: dict[str, Any]) -> None:
    assert template["Parameters"]["Access"]["Default"] == "sigv4"
    variables = template["Globals"]["Function"]["Environment"]["Variables"]
    assert variables["QUEUE_ACCESS"] == {"Ref": "Access"}
    assert variables["QUEUE_SECRET"] == {"Ref": "DatabaseSecret"}


def test_no_function_has_a_secret_in_its_variables(template: dict[str, Any]) -> None:
    """Whoever may call lambda:GetFunctionConfiguration reads them."""
    variables = template["Globals"]["Function"]["Environment"]["Variables"]
    assert {name: variables.get(name, "") for name in SECRETS} == dict.fromkeys(SECRETS, "")
    assert "{{resolve:" not in (ROOT / "template.yaml").read_text()


def test_the_http_api_has_a_limit_of_its_own(template: dict[str, Any]) -> None:
    limits = template["Resources"]["Api"]["Properties"]["DefaultRouteSettings"]
    assert limits == {
        "ThrottlingRateLimit": {"Ref": "RequestsPerSecond"},
        "ThrottlingBurstLimit": {"Ref": "RequestBurst"},
    }


def test_on_this_machine_functions_are_open() -> None:
    options = tomllib.loads((ROOT / "samconfig.toml").read_text())["default"]
    assert list(options) == ["local_start_api"]  # nothing that is deployed
    assert options["local_start_api"]["parameters"] == {"parameter_overrides": "Access=off"}
    assert PARAMETERS == {"Access": "off"}


def test_containers_ask_for_signatures_and_have_a_first_key() -> None:
    dockerfile = (ROOT / "infra/container/Dockerfile").read_text()
    assert re.search(r"^ENV .*\bQUEUE_ACCESS=sigv4$", dockerfile, re.MULTILINE)
    assert re.search(r"^CMD .*--first-key", dockerfile, re.MULTILINE)
    compose = yaml.safe_load((ROOT / "infra/container/compose.yaml").read_text())
    assert compose["x-environment"]["QUEUE_ACCESS"] == "${QUEUE_ACCESS:-sigv4}"
    assert "--first-key" in compose["services"]["migrate"]["command"]


def test_load_balancers_of_other_accounts_invoke_nothing() -> None:
    # S506: it is a SafeLoader
    loaded = yaml.load((ROOT / "infra/alb/template.yaml").read_text(), CloudFormationLoader)
    resources = expand_for_each(loaded["Resources"])
    allowed = [each["Properties"] for each in resources.values() if each["Type"] == "AWS::Lambda::Permission"]
    assert len(allowed) == len(ACTIONS) + 2  # and the gateway, and the REST API
    for permission in allowed:
        assert permission["SourceAccount"] == {"Ref": "AWS::AccountId"}
        assert permission["SourceArn"]["Fn::Sub"].endswith(":${AWS::AccountId}:targetgroup/*")


def test_terraform_asks_for_signatures() -> None:
    """That its tasks make a first key is tested by `make check-terraform`."""
    root = (ROOT / "infra/terraform/main.tf").read_text()
    assert re.search(r'access += lookup\(var.settings, "QUEUE_ACCESS", "sigv4"\)', root)
    assert re.search(r"QUEUE_ACCESS += local.access", root)


def test_the_setting_itself_is_open() -> None:
    """`make run` listens on loopback, and so do the tests of whoever uses it as a library."""
    assert Settings.read({}).queue_access == "off"
