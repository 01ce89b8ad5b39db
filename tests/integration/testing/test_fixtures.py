"""The fixtures in a project of a user's: one server for all processes of a run, an account for each test.

The example project of examples/pytest_project, as a user runs it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.testing.projects import left, run_tests, servers, temporary_files
from tests.support.wait import wait_until

TESTS = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range(4))
def test_a_message_goes_round(penstock, sqs, sqs_queue, number):
    sqs.send_message(QueueUrl=sqs_queue, MessageBody=str(number))
    (message,) = sqs.receive_message(QueueUrl=sqs_queue)["Messages"]
    assert message["Body"] == str(number)
    assert sqs.list_queues()["QueueUrls"] == [sqs_queue]
    with Path("seen").open("a") as file:
        file.write(f"{penstock.endpoint_url} {penstock.account_id}\\n")

def test_a_topic_delivers(sns, sqs, sqs_queue):
    arn = sqs.get_queue_attributes(QueueUrl=sqs_queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    topic = sns.create_topic(Name="news")["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"})
    sns.publish(TopicArn=topic, Message="hello")
    (message,) = sqs.receive_message(QueueUrl=sqs_queue, WaitTimeSeconds=5)["Messages"]
    assert message["Body"] == "hello"

def test_clients_that_read_the_environment_find_the_account(penstock_environment):
    import boto3
    with_account = boto3.client("sts").get_caller_identity()["Account"]
    assert with_account == penstock_environment.account_id
    assert "QueueUrls" not in boto3.client("sqs").list_queues()
"""
UNUSED = "def test_nothing(): pass\n"


def test_processes_of_a_run_share_a_server_and_no_account(tmp_path: Path) -> None:
    """Whatever database and settings the environment names; nothing is left of it afterwards."""
    (tmp_path / "test_it.py").write_text(TESTS)
    with temporary_files() as temporary:
        done = run_tests(tmp_path, temporary, "-n", "2")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "6 passed" in done.stdout
        wait_until(lambda: not left(temporary) and not servers(temporary))
    endpoints, accounts = zip(
        *(line.split() for line in (tmp_path / "seen").read_text().splitlines()), strict=True
    )
    assert len(set(endpoints)) == 1
    assert len(set(accounts)) == len(accounts) == 4


def test_a_project_that_asks_for_no_fixture_notices_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(UNUSED)
    with temporary_files() as temporary:
        done = run_tests(tmp_path, temporary)
        assert done.returncode == 0, done.stdout + done.stderr
        assert list(temporary.glob("penstock*")) == []


def test_pytest_loads_neither_boto3_nor_the_service() -> None:
    code = "import sys, penstock.testing.fixtures; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "penstock" in loaded
    assert not loaded & {"boto3", "botocore", "psycopg", "penstock_web", "msgspec", "asyncio"}


EXAMPLE = Path(__file__).parents[3] / "examples/pytest_project"


@pytest.mark.slow
def test_its_tests_pass(tmp_path: Path) -> None:
    for file in EXAMPLE.glob("*.py"):
        shutil.copy(file, tmp_path)
    with temporary_files() as temporary:
        done = run_tests(tmp_path, temporary)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "3 passed" in done.stdout
