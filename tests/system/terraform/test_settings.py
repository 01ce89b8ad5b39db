"""Tests that the Terraform module accepts every setting by name. Also tests that the module's plan refuses values that
the service would refuse.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from os import environ
from pathlib import Path
from typing import Any

import pytest

from penstock.settings import SETTINGS
from tests.support.setting_values import ACCEPTED, REFUSED

pytestmark = pytest.mark.tools

MODULE = Path(__file__).parents[3] / "infra/terraform/modules/settings"
SECRETS = [setting.name for setting in SETTINGS if setting.secret]


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """Returns a writable copy of the module."""
    return Path(shutil.copytree(MODULE, tmp_path / "settings"))


def evaluate(module: Path, expression: str, settings: Mapping[str, str], secrets: Mapping[str, str]) -> Any:
    """Evaluates an expression with the given variables, without a provider or an account."""
    variables = {"defaults": {"QUEUE_ACCESS": "sigv4"}, "settings": settings, "secret_settings": secrets}
    (module / "x.tfvars.json").write_text(json.dumps(variables))
    (module / "cli.rc").touch()
    console = subprocess.run(
        ["terraform", f"-chdir={module}", "console", "-var-file=x.tfvars.json"],
        input=f"jsonencode({expression})",
        env={**environ, "TF_CLI_CONFIG_FILE": str(module / "cli.rc"), "CHECKPOINT_DISABLE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert console.stdout, console.stderr
    return json.loads(json.loads(console.stdout.splitlines()[-1]))


def test_every_setting_can_be_set(module: Path) -> None:
    settings = {name: text for name, text in ACCEPTED.items() if name not in SECRETS}
    secrets = dict.fromkeys(SECRETS, "arn:aws:secretsmanager:eu-central-1:111122223333:secret:a")
    assert evaluate(module, "local.refusals", settings, secrets) == []
    assert evaluate(module, "local.environment", settings, secrets) == settings


def test_an_empty_setting_has_the_default_of_the_modules(module: Path) -> None:
    assert evaluate(module, "local.environment", {"QUEUE_ACCESS": ""}, {}) == {"QUEUE_ACCESS": "sigv4"}


def test_every_value_that_the_service_refuses_is_refused(module: Path) -> None:
    refusals = evaluate(module, "local.refusals", REFUSED, {})
    assert sorted(refusal.split()[0] for refusal in refusals) == sorted(REFUSED)


def test_names_are_refused(module: Path) -> None:
    settings = {"QUEUE_SHARD": "4", "QUEUE_ENCRYPTION_KEY": "a"}
    assert evaluate(module, "local.refusals", settings, {"QUEUE_SHARDS": "arn"}) == [
        "QUEUE_SHARD is not a setting of docs/reference/settings.md",
        "QUEUE_ENCRYPTION_KEY is a secret setting: set it in secret_settings",
        "QUEUE_SHARDS is not a secret setting: set it in settings",
    ]
