"""Runs today's boto3, which speaks JSON, boto3 1.26, which speaks Query, aioboto3 for asyncio, the command line
awscli, and the webhook of django-anymail."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients.scenario import FIFO, STANDARD
from tests.support.clients.service_client import ROOT, Deployment, client
from tests.support.programs.penstock_up import Up
from tests.support.wait import wait_until


def facts(python: Path, module: str, up: Deployment) -> Any:
    """Returns the results of a client that runs in the environment of `python`."""
    assert python.exists(), f"{python} is missing: run `make clients`"
    command = [str(python), "-m", f"tests.support.clients.{module}", up.address]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout)


def test_awscli(up: Deployment) -> None:
    assert facts(Path(sys.executable), "awscli_client", up) == {"standard": STANDARD, "fifo": FIFO}


def test_the_command_that_is_printed_at_the_start_works(container: Up) -> None:
    command = container.lines[3].removeprefix("awscli ")
    variables = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True, env=variables)
    assert json.loads(done.stdout) == {"QueueUrl": f"{container.address}/000000000000/hello"}


def installed(name: str) -> Path:
    return ROOT / ".tools/clients" / name / "bin/python"


def test_boto3(up: Deployment) -> None:
    seen = facts(Path(sys.executable), "boto3_client", up)
    assert seen == {"protocol": "json", "standard": STANDARD, "fifo": FIFO}


@pytest.mark.clients
def test_boto3_of_the_query_protocol(up: Deployment) -> None:
    seen = facts(installed("clients-old"), "boto3_client", up)
    assert seen == {"protocol": "query", "standard": STANDARD, "fifo": FIFO}


@pytest.mark.clients
def test_aioboto3(up: Deployment) -> None:
    seen = facts(installed("clients"), "aioboto3_client", up)
    assert seen == {"protocol": "json", "standard": STANDARD, "fifo": FIFO}


@pytest.mark.clients
def test_anymail(container: Up) -> None:
    """The webhook of django-anymail for Amazon SES wants user and password, and confirms the subscription itself."""
    python = ROOT / ".tools/clients/clients/bin/python"
    assert python.exists(), f"{python} is missing: run `make clients`"
    command = [str(python), "-m", "tests.support.clients.anymail_webhook", container.address]
    keys = {**os.environ, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    at = "2026-11-28T00:00:00.000Z"
    bounce = {"bounceType": "Permanent", "bounceSubType": "General", "timestamp": at, "feedbackId": "f",
              "bouncedRecipients": [{"emailAddress": "to@example.com"}]}  # fmt: skip
    mail = {"messageId": "m1", "timestamp": at, "source": "a@example.com", "destination": ["to@example.com"]}
    with (
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=keys) as webhook,
        client("sns", container) as sns,
    ):
        try:
            assert webhook.stdout is not None
            server = f"127.0.0.1:{int(webhook.stdout.readline())}"
            url = f"http://max:geh%2Fheim@{server}/anymail/amazon_ses/tracking/"
            topic = sns.create_topic(Name="mails")["TopicArn"]
            made = sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=url, ReturnSubscriptionArn=True)
            arn = made["SubscriptionArn"]

            def attributes() -> dict[str, str]:
                return dict(sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"])

            wait_until(lambda: attributes()["PendingConfirmation"] == "false")
            assert attributes()["Endpoint"] == url.replace("geh%2Fheim", "****")
            notification = {"notificationType": "Bounce", "mail": mail, "bounce": bounce}
            sns.publish(TopicArn=topic, Message=json.dumps(notification))
            assert json.loads(webhook.stdout.readline()) == ["bounced", "to@example.com", "m1"]
        finally:
            webhook.terminate()
