"""Terraform's AWS provider. It reads every attribute six times, five seconds apart, before it believes it is set.

Terraform and the provider come from no package index, so `make clients` cannot install them: `terraform` has to be on
the PATH, and the provider in a folder that `terraform providers mirror` made, named by TERRAFORM_PLUGINS or at one of
the places where Terraform itself looks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.clients.service import sqs_client
from tests.up import Up

pytestmark = pytest.mark.clients

# Queue -> attribute -> value; None: not there.
Attributes = dict[str, dict[str, str | None]]

ACCOUNT = "111122223333"
CONFIGURATION = Path(__file__).parent / "terraform/main.tf"
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
KEYS = "SqsManagedSseEnabled", "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds"
NUMBERS = (
    "DelaySeconds",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "ReceiveMessageWaitTimeSeconds",
    "VisibilityTimeout",
)
# What main.tf says, in the names of SQS. A plan cannot show all of it: the provider drops a change of the reuse period
# when it believes that the queue is encrypted by SQS.
FIRST: Attributes = {
    "every-number": dict(zip(NUMBERS, ("900", "1024", "1209600", "20", "0"), strict=True)),
    "apart.fifo": {"FifoQueue": "true", "ContentBasedDeduplication": "true"},
    "high-throughput.fifo": {
        "DeduplicationScope": "messageGroup",
        "FifoThroughputLimit": "perMessageGroupId",
    },
    "key": dict(zip(KEYS, ("false", "alias/mine", "86400"), strict=True)),
    "key-to-managed": {"SqsManagedSseEnabled": "false", "KmsMasterKeyId": "alias/aws/sqs"},
    "managed-to-key": {"SqsManagedSseEnabled": "true", "KmsMasterKeyId": None},
    "unencrypted": {"SqsManagedSseEnabled": "false", "KmsMasterKeyId": None},
}
CHANGED: Attributes = {
    "every-number": dict(zip(NUMBERS, ("0", "262144", "60", "0", "43200"), strict=True)),
    "apart.fifo": {"FifoQueue": "true", "ContentBasedDeduplication": "false"},
    "high-throughput.fifo": {"DeduplicationScope": "queue", "FifoThroughputLimit": "perQueue"},
    "key": dict(zip(KEYS, ("false", "alias/aws/sqs", "60"), strict=True)),
    "key-to-managed": {"SqsManagedSseEnabled": "true", "KmsMasterKeyId": None},
    "managed-to-key": {"SqsManagedSseEnabled": "false", "KmsMasterKeyId": "alias/aws/sqs"},
    "unencrypted": {"SqsManagedSseEnabled": "true", "KmsMasterKeyId": None},
}
IMPORTED = {
    "aws_sqs_queue.work": "work",
    "aws_sqs_queue.apart": "apart.fifo",
    "aws_sqs_queue_redrive_policy.apart": "apart.fifo",
    "aws_sqs_queue_policy.apart": "apart.fifo",
    "aws_sqs_queue_redrive_allow_policy.apart_dead": "apart-dead.fifo",
}


def mirror() -> Path:
    """The folder that has the provider below it."""
    places = [Path(os.environ["TERRAFORM_PLUGINS"])] if "TERRAFORM_PLUGINS" in os.environ else USUAL
    for place in places:
        if any(place.glob("*/hashicorp/aws")):
            return place
    pytest.fail(
        "Terraform's AWS provider is missing: run `terraform providers mirror FOLDER` in tests/clients/terraform "
        "and set TERRAFORM_PLUGINS=FOLDER"
    )


class Terraform:
    """The command line of Terraform in a folder of its own, which knows nothing of the user's."""

    def __init__(self, up: Up, folder: Path) -> None:
        assert shutil.which("terraform"), "`make clients` needs terraform on the PATH"
        shutil.copy(CONFIGURATION, folder)
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
        """What it printed, and its exit code, which must be one of `codes`."""
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
        """Terraform works on 10 resources at once by default; most of the time it waits."""
        return self.run("apply", "-auto-approve", "-parallelism=30", *options, changed=changed).stdout

    def plan(self, *, changed: bool = False) -> int:
        """NO_CHANGES when everything reads back as configured, else CHANGES."""
        return self.run("plan", "-detailed-exitcode", codes=(NO_CHANGES, CHANGES), changed=changed).returncode

    def import_again(self, urls: Mapping[str, str], *, changed: bool) -> str:
        """Forget resources and learn all about them from the service."""
        self.run("state", "rm", *urls)
        blocks = (f'import {{\n  to = {address}\n  id = "{url}"\n}}\n' for address, url in urls.items())
        (self._folder / "imported.tf").write_text("".join(blocks))
        return self.apply(changed=changed)


def attributes(sqs: Any, expected: Attributes) -> Attributes:
    """Of the queues named there, the attributes named there."""
    found: Attributes = {}
    for queue, names in expected.items():
        url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
        every = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        found[queue] = {name: every.get(name) for name in names}
    return found


def tags(sqs: Any, queue: str) -> dict[str, str]:
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    return dict(sqs.list_queue_tags(QueueUrl=url).get("Tags", {}))


@pytest.fixture(scope="module")
def sqs(up: Up) -> Iterator[Any]:
    with sqs_client(up, ACCOUNT) as sqs:
        yield sqs


# Each stage builds on the one before, and takes up to two minutes.
@pytest.fixture(scope="module")
def made(up: Up, tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    """Everything that main.tf says is there."""
    terraform = Terraform(up, tmp_path_factory.mktemp("terraform"))
    terraform.run("init")
    terraform.apply()
    return terraform


@pytest.fixture(scope="module")
def changed(made: Terraform) -> Terraform:
    """All that can change has changed, and a queue was made anew under its name.

    For that, the provider tries again until SQS allows it, 60 seconds later.
    """
    made.apply("-replace=aws_sqs_queue.plain", changed=True)
    return made


def test_what_is_made_reads_back_as_configured(made: Terraform, sqs: Any) -> None:
    assert made.plan() == NO_CHANGES
    assert attributes(sqs, FIRST) == FIRST
    assert tags(sqs, "every-number") == {"kept": "first", "gone": "grüße = + - : / @", "owner": "terraform"}


def test_what_is_changed_reads_back_as_configured(changed: Terraform, sqs: Any) -> None:
    assert changed.plan(changed=True) == NO_CHANGES
    assert changed.plan() == CHANGES  # so an empty plan says something
    assert attributes(sqs, CHANGED) == CHANGED
    assert tags(sqs, "every-number") == {"kept": "changed", "new": "", "owner": "terraform"}


def test_what_is_imported_is_as_configured(changed: Terraform, sqs: Any) -> None:
    urls = {address: sqs.get_queue_url(QueueName=queue)["QueueUrl"] for address, queue in IMPORTED.items()}
    said = changed.import_again(urls, changed=True)
    assert "Resources: 5 imported, 0 added, 0 changed, 0 destroyed." in said
    assert changed.plan(changed=True) == NO_CHANGES


def test_nothing_is_left_when_all_is_destroyed(changed: Terraform, sqs: Any) -> None:
    changed.run("destroy", "-auto-approve", "-parallelism=30", changed=True)
    assert sqs.list_queues().get("QueueUrls", []) == []
