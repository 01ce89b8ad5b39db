"""Runs Terraform's command line with the AWS provider.

No package index contains Terraform or the provider, so `make clients` cannot install them. `terraform` must be on the
PATH, and the provider in a folder that `terraform providers mirror` created. Set TERRAFORM_PLUGINS to the folder unless
Terraform finds the folder without the variable.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.clients.service_client import Deployment

ACCOUNT = "111122223333"
CONFIGURATIONS = Path(__file__).parent / "terraform"
DATA = Path(os.environ.get("XDG_DATA_HOME", Path.home() / ".local/share"))
USUAL = (
    Path.home() / ".terraform.d/plugins",
    DATA / "terraform/plugins",
    Path("/usr/local/share/terraform/plugins"),
    Path("/usr/share/terraform/plugins"),
    *Path("/opt").glob("*"),
)
CLI_CONFIGURATION = """
provider_installation {{
  filesystem_mirror {{
    path = "{mirror}"
  }}
}}
"""
NO_CHANGES, CHANGES = 0, 2


def mirror() -> Path:
    """Returns the folder that contains the provider."""
    places = [Path(os.environ["TERRAFORM_PLUGINS"])] if "TERRAFORM_PLUGINS" in os.environ else USUAL
    for place in places:
        if any(place.glob("*/hashicorp/aws")):
            return place
    pytest.fail(
        "Terraform's AWS provider is missing: run `terraform providers mirror FOLDER` in "
        "tests/support/clients/terraform "
        "and set TERRAFORM_PLUGINS=FOLDER"
    )


class Terraform:
    """Runs Terraform in a new folder with the given files, but without the user's settings."""

    def __init__(self, up: Deployment, folder: Path, *files: str) -> None:
        assert shutil.which("terraform"), "`make clients` needs terraform on the PATH"
        for name in ("provider.tf", *files):
            shutil.copy(CONFIGURATIONS / name, folder)
        (folder / "cli.rc").write_text(CLI_CONFIGURATION.format(mirror=mirror()))
        self._folder = folder
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TF_CLI_CONFIG_FILE": str(folder / "cli.rc"),
            "TF_IN_AUTOMATION": "1",
            "CHECKPOINT_DISABLE": "1",
            "TF_VAR_endpoint": up.address,
            "TF_VAR_account": ACCOUNT,
        }

    def run(
        self, *arguments: str, codes: tuple[int, ...] = (0,), changed: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Returns the finished process. The exit code must be one of `codes`."""
        done = subprocess.run(
            ["terraform", *arguments, "-no-color"],
            cwd=self._folder,
            env={**self._environment, "TF_VAR_changed": str(changed).lower()},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in codes, done.stdout + done.stderr
        return done

    def apply(self, *options: str, changed: bool = False) -> str:
        """Applies the files. Operations mostly wait, so Terraform runs more operations in parallel than its default of
        10.
        """
        return self.run("apply", "-auto-approve", "-parallelism=30", *options, changed=changed).stdout

    def plan(self, *, changed: bool = False) -> int:
        """Returns NO_CHANGES if the service's state equals the configuration, and CHANGES otherwise."""
        return self.run("plan", "-detailed-exitcode", codes=(NO_CHANGES, CHANGES), changed=changed).returncode

    def import_again(self, urls: Mapping[str, str], *, changed: bool) -> str:
        """Removes resources from Terraform's state and imports them from the service."""
        self.run("state", "rm", *urls)
        blocks = (f'import {{\n  to = {address}\n  id = "{url}"\n}}\n' for address, url in urls.items())
        (self._folder / "imported.tf").write_text("".join(blocks))
        return self.apply(changed=changed)


def applied(up: Deployment, folder: Path, *files: str) -> Terraform:
    """Creates all resources in the files."""
    terraform = Terraform(up, folder, *files)
    terraform.run("init")
    terraform.apply()
    return terraform
