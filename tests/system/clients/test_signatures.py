"""Verifies the signatures of the SDKs for Java, Rust, PHP and Ruby, which sign in different ways.

Source: "AWS Signature Version 4 for API requests" in the IAM user guide. The service refuses a wrong secret with
SignatureDoesNotMatch ("Common error types" in the SQS API reference).
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.support.clients.event_bus_scenario import EVENT_BUS
from tests.support.clients.sdk_scenario import FACTS, GO_ENVIRONMENT, GO_SOURCES, JAVA_PROGRAMS, NODE_MODULES, printed
from tests.support.clients.service_client import ROOT, Deployment, counts
from tests.support.pages.script import blocks
from tests.support.programs.penstock_up import COMMAND, Up, running

pytestmark = pytest.mark.clients

JAVA = ROOT / ".tools/clients/java/sdk"
PROGRAMS = {
    "java": ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{JAVA}/lib/*:{JAVA}/classes", "Sdk"],
    "rust": [str(ROOT / ".tools/clients/rust/target/debug/penstock-client")],
    "php": ["php", str(ROOT / "tests/support/clients/php/sdk.php")],
    "ruby": ["ruby", str(ROOT / "tests/support/clients/ruby/sdk.rb")],
}
ENCRYPTION_KEY = base64.b64encode(bytes(32)).decode()


@pytest.fixture(scope="module")
def signing() -> Iterator[Up]:
    with running("--ephemeral", QUEUE_ACCESS="sigv4", QUEUE_ENCRYPTION_KEY=ENCRYPTION_KEY) as signing:
        yield signing


@pytest.fixture(scope="module")
def key(signing: Up) -> dict[str, str]:
    """Returns a key in the programs' format."""
    variables = {
        **os.environ,
        "QUEUE_ACCESS": "sigv4",
        "QUEUE_ENCRYPTION_KEY": ENCRYPTION_KEY,
        "DATABASE_URL": signing.dsn,
    }
    done = subprocess.run([*COMMAND, "keys", "create"], env=variables, capture_output=True, text=True, check=True)
    shown = dict(line.split("=", 1) for line in done.stdout.splitlines() if line.startswith("AWS_"))
    return {"PENSTOCK_KEY": shown["AWS_ACCESS_KEY_ID"], "PENSTOCK_SECRET": shown["AWS_SECRET_ACCESS_KEY"]}


def told(program: str, signing: Up, key: dict[str, str]) -> Any:
    return printed([*PROGRAMS[program], signing.address, f"signed-{program}", "sync"], **key)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_signed_request_is_accepted(signing: Up, key: dict[str, str], program: str) -> None:
    seen = told(program, signing, key)
    assert {name: seen[name] for name in ("awaited", "received", "attributes")} == {
        name: FACTS[name] for name in ("awaited", "received", "attributes")
    }


def test_signed_requests_use_event_buses(signing: Up, key: dict[str, str]) -> None:
    """The SDK for Rust signs for the service `events`."""
    assert printed([*PROGRAMS["rust"], signing.address, "signed-events", "events"], **key) == EVENT_BUS


@pytest.mark.parametrize("program", PROGRAMS)
def test_another_secret_is_refused(signing: Up, key: dict[str, str], program: str) -> None:
    with pytest.raises(AssertionError, match=r"SignatureDoesNotMatch|signature we calculated does not match"):
        told(program, signing, {**key, "PENSTOCK_SECRET": "x" * 40})


# --- examples --------------------------------------------------------------------------------------------------------
# Runs the examples in other languages with the packages that `make clients` installed.
#
# Users install these packages with the commands in examples/README.md.

EXAMPLES = ROOT / "examples"
RUST = ROOT / ".tools/clients/rust"
HANDLED = ['handled {"order":1}', 'handled {"order":2}', 'handled {"order":3}']


def run(command: list[str | Path], folder: Path, **environment: str) -> str:
    """Runs a program, which must succeed. Returns its output."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_node(folder: Path, endpoint: str) -> str:
    (folder / "node_modules").symlink_to(NODE_MODULES / "node_modules")
    return run(["node", "worker.mjs"], folder, AWS_ENDPOINT_URL=endpoint)


def run_go(folder: Path, endpoint: str) -> str:
    return run(["go", "run", "."], folder, **GO_ENVIRONMENT, AWS_ENDPOINT_URL=endpoint)


def run_java(folder: Path, endpoint: str) -> str:
    path = f"{JAVA_PROGRAMS / 'sdk'}/lib/*"
    run(["javac", "-cp", path, "Worker.java"], folder)
    return run(["java", "-cp", f"{path}:.", "Worker"], folder, AWS_ENDPOINT_URL=endpoint)


def run_rust(folder: Path, endpoint: str) -> str:
    """Copies the client program's lock file without the crates that the example does not use."""
    shutil.copy(RUST / "Cargo.lock", folder)
    command: list[str | Path] = ["cargo", "run", "--quiet", "--offline", "--jobs", "1"]
    return run(command, folder, CARGO_TARGET_DIR=str(RUST / "target"), AWS_ENDPOINT_URL=endpoint)


def run_php(folder: Path, endpoint: str) -> str:
    return run(["php", "worker.php"], folder, AWS_ENDPOINT_URL=endpoint)


@pytest.mark.parametrize(
    ("language", "run_example"),
    [("node", run_node), ("go", run_go), ("java", run_java), ("rust", run_rust), ("php", run_php)],
)
def test_an_example_handles_its_orders(
    up: Deployment, tmp_path: Path, language: str, run_example: Callable[[Path, str], str]
) -> None:
    shutil.copytree(EXAMPLES / language, tmp_path, dirs_exist_ok=True)
    assert sorted(run_example(tmp_path, up.address).splitlines()) == HANDLED
    assert counts(up, f"example-{language}") == ["0", "0", "0"]


# --- the header X-Penstock-Error -------------------------------------------------------------------------------------
# Runs the recipes of docs/guides/why_failed.md. The service ignores a header that the signature does not cover.

RECIPES = "docs/guides/why_failed.md"
ERROR = "größe 日本 + 1%"
NODE_PROGRAM = """
import { ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { fail } from "./recipe.mjs";
const QueueUrl = process.argv[2];
const sqs = new SQSClient({ region: "us-east-1", endpoint: new URL(QueueUrl).origin });
const { Messages } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 5 }));
await fail(sqs, QueueUrl, Messages[0].ReceiptHandle, new Error(process.argv[3]));
"""
GO_PROGRAM = """package main

import (
	"context"
	"errors"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func main() {
	client := sqs.New(sqs.Options{
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider(
			os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), ""),
		BaseEndpoint: aws.String(os.Getenv("AWS_ENDPOINT_URL")),
	})
	url := aws.String(os.Args[1])
	got, err := client.ReceiveMessage(context.Background(), &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 5})
	if err == nil {
		err = fail(client, url, got.Messages[0].ReceiptHandle, 0, errors.New(os.Args[2]))
	}
	if err != nil {
		panic(err)
	}
}
"""
JAVA_PROGRAM = """
import java.net.URI;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.sqs.SqsClient;

class Program {
    public static void main(String[] args) {
        try (var sqs = SqsClient.builder().region(Region.US_EAST_1)
                .endpointOverride(URI.create(System.getenv("AWS_ENDPOINT_URL")))
                .overrideConfiguration(c -> c.addExecutionInterceptor(new ErrorHeader())).build()) {
            var message = sqs.receiveMessage(r -> r.queueUrl(args[0]).waitTimeSeconds(5)).messages().get(0);
            ErrorHeader.fail(sqs, args[0], message.receiptHandle(), 0, new Exception(args[1]));
        }
    }
}
"""


def read_recipe(language: str) -> str:
    (block,) = [block for block in blocks(RECIPES) if block.language == language]
    return block.text


def fail_in_node(folder: Path, url: str, environment: dict[str, str]) -> None:
    (folder / "node_modules").symlink_to(NODE_MODULES / "node_modules")
    (folder / "recipe.mjs").write_text(read_recipe("javascript"))
    (folder / "program.mjs").write_text(NODE_PROGRAM)
    run(["node", "program.mjs", url, ERROR], folder, **environment)


def fail_in_go(folder: Path, url: str, environment: dict[str, str]) -> None:
    for name in ("go.mod", "go.sum"):
        shutil.copy(GO_SOURCES / name, folder)
    (folder / "recipe.go").write_text(read_recipe("go"))
    (folder / "main.go").write_text(GO_PROGRAM)
    run(["go", "run", ".", url, ERROR], folder, **GO_ENVIRONMENT, **environment)


def fail_in_java(folder: Path, url: str, environment: dict[str, str]) -> None:
    path = f"{JAVA_PROGRAMS / 'sdk'}/lib/*"
    (folder / "ErrorHeader.java").write_text(read_recipe("java"))
    (folder / "Program.java").write_text(JAVA_PROGRAM)
    run(["javac", "-encoding", "UTF-8", "-cp", path, "ErrorHeader.java", "Program.java"], folder)
    run(["java", "-Dsun.jnu.encoding=UTF-8", "-cp", f"{path}:.", "Program", url, ERROR], folder, **environment)


@pytest.mark.parametrize("fail", [fail_in_node, fail_in_go, fail_in_java])
def test_the_error_of_a_recipe_is_in_the_dead_letter(
    signing: Up, key: dict[str, str], tmp_path: Path, fail: Callable[[Path, str, dict[str, str]], None]
) -> None:
    keys = {"aws_access_key_id": key["PENSTOCK_KEY"], "aws_secret_access_key": key["PENSTOCK_SECRET"]}
    sqs = boto3.client("sqs", endpoint_url=signing.address, region_name="us-east-1", **keys)
    dead = sqs.create_queue(QueueName=f"{fail.__name__}-dead")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})
    url = sqs.create_queue(QueueName=fail.__name__, Attributes={"RedrivePolicy": policy})["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="m")
    environment = {name.upper(): value for name, value in keys.items()} | {"AWS_ENDPOINT_URL": signing.address}
    fail(tmp_path, url, environment)
    assert "Messages" not in sqs.receive_message(QueueUrl=url)
    (letter,) = sqs.receive_message(QueueUrl=dead, MessageAttributeNames=["All"])["Messages"]
    assert letter["MessageAttributes"]["PenstockError"]["StringValue"].endswith(ERROR)
