"""Splits an installation of two regions into two cells behind HAProxy, and connects two queues by a bridge
(docs/operate/scaling.md).

The page contains HAProxy's configuration, the SQL script and the bridge's program. Clients use only HAProxy's address.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import boto3
import psycopg
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from penstock.postgres.migrations import migrate
from penstock_web.local.debian import find_library_path, unpack_package
from penstock_web.local.pgbouncer import account_cache
from penstock_web.local.postgres import Postgres, free_port, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.local.system_account import SystemAccount
from tests.support.database import memory_directory
from tests.support.programs.penstock_service import running_service
from tests.support.wait import wait_until

pytestmark = pytest.mark.ha

PAGE = (Path(__file__).parents[3] / "docs/operate/scaling.md").read_text()
WEST_1, WEST_2 = "eu-west-1", "eu-west-2"
ACCOUNT = SystemAccount.choose()
DEFAULT_TARGET = {"RoleArn": "arn:aws:iam::000000000000:role/scheduler"}


def block(language: str, words: str) -> str:
    """Returns the page's only block in the given language that contains the given words."""
    (found,) = [
        text for text in re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) if words in text
    ]
    return str(found)


class Cells(NamedTuple):
    """Contains the addresses of HAProxy, the two services and the regions' databases."""

    url: str
    services: dict[str, str]
    databases: dict[str, str]


class Held(NamedTuple):
    """Contains a client's resources at the time of the split."""

    url: str
    handle: str


def client(url: str, region: str, service: str = "sqs") -> Any:
    return boto3.client(
        service, endpoint_url=url, region_name=region, aws_access_key_id="x", aws_secret_access_key="x",
        config=Config(retries={"total_max_attempts": 1}),
    )  # fmt: skip


def code(call: Any, **parameters: Any) -> str:
    with pytest.raises(ClientError) as raised:
        call(**parameters)
    return str(raised.value.response["Error"]["Code"])


def fill(url: str, region: str) -> Held:
    """Creates a queue with an in-flight and a visible message, a subscribed topic, and a schedule."""
    sqs, sns = client(url, region), client(url, region, "sns")
    queue = sqs.create_queue(QueueName="orders", Attributes={"VisibilityTimeout": "600"})["QueueUrl"]
    sqs.send_message(QueueUrl=queue, MessageBody=f"in flight in {region}")
    (message,) = sqs.receive_message(QueueUrl=queue)["Messages"]
    sqs.send_message(QueueUrl=queue, MessageBody=f"waits in {region}")
    topic = sns.create_topic(Name="events")["TopicArn"]
    arn = f"arn:aws:sqs:{region}:000000000000:orders"
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"})
    client(url, region, "scheduler").create_schedule(
        Name="nightly",
        ScheduleExpression="cron(0 3 * * ? *)",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={**DEFAULT_TARGET, "Arn": arn},
    )
    return Held(queue, message["ReceiptHandle"])


def run(*command: object, **variables: str) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        list(map(str, command)), env={**os.environ, "PATH": path, **variables},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def split(server: Postgres, old: str, new: str, folder: Path) -> None:
    """Dumps, restores and prunes the databases with the page's commands."""
    program, dump, script = server.binaries.path, folder / "queue.dump", folder / "split.sql"
    run(program("pg_dump"), "--format=custom", "--schema=queue", "--no-owner", f"--dbname={old}", f"--file={dump}")
    run(program("pg_restore"), "--exit-on-error", "--no-owner", "--no-acl", f"--dbname={new}", dump)
    run("penstock", "migrate", DATABASE_DIRECT_URL=new, DATABASE_URL=new)
    run("penstock", "doctor", "--after-restore", DATABASE_DIRECT_URL=new, DATABASE_URL=new)
    script.write_text(block("sql", "drop_queue"))
    for address, keep in ((old, WEST_1), (new, WEST_2)):
        run(program("psql"), address, "--set=ON_ERROR_STOP=1", f"--set=keep={keep}", f"--file={script}")


@contextmanager
def running_haproxy(folder: Path, ports: dict[str, int]) -> Iterator[str]:
    """Runs HAProxy with the page's configuration on free ports."""
    port = free_port()
    text = block("haproxy", "use_backend")
    for written, used in (("9324", port), ("9331", ports[WEST_1]), ("9332", ports[WEST_2])):
        assert f"127.0.0.1:{written}" in text
        text = text.replace(f"127.0.0.1:{written}", f"127.0.0.1:{used}")
    configuration = folder / "haproxy.cfg"
    configuration.write_text(text)
    program, environment = find_haproxy()
    with subprocess.Popen([program, "-f", configuration], env={**os.environ, **environment}) as process:
        try:
            wait_until(lambda: responses(f"http://127.0.0.1:{port}"))
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def responses(url: str) -> bool:
    try:
        return all(client(url, region).list_queues() for region in (WEST_1, WEST_2))
    except Exception:  # noqa: BLE001 - HAProxy is starting, or has not yet marked both services as healthy
        return False


def find_haproxy() -> tuple[Path, dict[str, str]]:
    """Finds HAProxy on PATH, or unpacks Debian's package, which needs no root."""
    if installed := shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin"):
        return Path(installed), {}
    root = unpack_package("haproxy", account_cache(ACCOUNT) / "haproxy")
    return root / "usr/sbin/haproxy", {"LD_LIBRARY_PATH": find_library_path(root)}


@pytest.fixture(scope="module")
def split_installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cells, dict[str, Held]]]:
    """Yields two cells that a split created, and the clients' resources."""
    folder = tmp_path_factory.mktemp("cells")
    with ExitStack() as stack:
        state = stack.enter_context(ephemeral_state(memory_directory()))
        server = stack.enter_context(running_postgres(state, ACCOUNT, "any"))
        old = server.service_dsn()
        new = re.sub(r"/penstock(?=\?|$)", "/second", old)
        assert new != old
        with psycopg.connect(server.superuser_dsn(), autocommit=True) as connection:
            connection.execute("create database second owner penstock template template0")
        migrate(old)
        with running_service(old) as service:
            held = {region: fill(service.url, region) for region in (WEST_1, WEST_2)}
        split(server, old, new, folder)
        databases = {WEST_1: old, WEST_2: new}
        services = {
            region: stack.enter_context(running_service(address, QUEUE_REGION=region, QUEUE_REGIONS=region)).url
            for region, address in databases.items()
        }
        ports = {region: int(url.rpartition(":")[2]) for region, url in services.items()}
        url = stack.enter_context(running_haproxy(folder, ports))
        yield Cells(url, services, databases), held


@pytest.fixture
def cells(split_installation: tuple[Cells, dict[str, Held]]) -> Cells:
    return split_installation[0]


def regions_in(address: str) -> set[str]:
    with psycopg.connect(address) as connection:
        rows = connection.execute(
            "select region from queue.queues union select region from queue.topic"
            " union select region from queue.schedule union select region from queue.schedule_group"
            " union select split_part(s.endpoint, ':', 4) from queue.subscription s"
        ).fetchall()
    return {region for (region,) in rows}


def test_each_side_keeps_its_own(cells: Cells) -> None:
    assert {region: regions_in(address) for region, address in cells.databases.items()} == {
        WEST_1: {WEST_1},
        WEST_2: {WEST_2},
    }


@pytest.mark.parametrize("region", [WEST_1, WEST_2])
def test_a_handle_from_before_the_split_still_deletes(
    split_installation: tuple[Cells, dict[str, Held]], region: str
) -> None:
    """A handle from before the split deletes only the in-flight message. The visible message remains in the queue."""
    cells, held = split_installation
    sqs = client(cells.url, region)
    url = sqs.get_queue_url(QueueName="orders")["QueueUrl"]
    sqs.delete_message(QueueUrl=url, ReceiptHandle=held[region].handle)
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    assert sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"] == {
        names[0]: "1", names[1]: "0",
    }  # fmt: skip
    (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    assert message["Body"] == f"waits in {region}"
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    (schedule,) = client(cells.url, region, "scheduler").list_schedules()["Schedules"]
    assert schedule["Target"]["Arn"].split(":")[3] == region


@pytest.mark.parametrize("region", [WEST_1, WEST_2])
def test_each_region_in_its_own_database(cells: Cells, region: str) -> None:
    sqs = client(cells.url, region)
    name = f"only-in-{region}"
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    for number in range(10):
        sqs.send_message(QueueUrl=url, MessageBody=str(number))
    assert len(sqs.list_queues(QueueNamePrefix=name)["QueueUrls"]) == 1
    found = {}
    for each, address in cells.databases.items():
        with psycopg.connect(address) as connection:
            (number,) = connection.execute(
                "select count(*) from queue.live_message m join queue.queues q using (queue_id) where q.name = %s",
                (name,),
            ).fetchone() or (None,)
            found[each] = number
    assert found == {WEST_1: 0, WEST_2: 0, region: 10}


@pytest.mark.parametrize("region", [WEST_1, WEST_2])
def test_a_topic_reaches_the_queues_of_its_cell(cells: Cells, region: str) -> None:
    sqs, sns = client(cells.url, region), client(cells.url, region, "sns")
    (topic,) = sns.list_topics()["Topics"]
    arns = []
    for number in range(3):
        url = sqs.create_queue(QueueName=f"copy-{number}")["QueueUrl"]
        arns.append(f"arn:aws:sqs:{region}:000000000000:copy-{number}")
        sns.subscribe(TopicArn=topic["TopicArn"], Protocol="sqs", Endpoint=arns[-1])
    sns.publish(TopicArn=topic["TopicArn"], Message="to all")
    for number in range(3):
        url = sqs.get_queue_url(QueueName=f"copy-{number}")["QueueUrl"]
        assert len(sqs.receive_message(QueueUrl=url, WaitTimeSeconds=5)["Messages"]) == 1
    other = WEST_1 if region == WEST_2 else WEST_2
    foreign = arns[0].replace(region, other)
    assert code(sns.subscribe, TopicArn=topic["TopicArn"], Protocol="sqs", Endpoint=foreign) == "InvalidParameter"


def test_regions_that_nobody_serves(cells: Cells) -> None:
    """HAProxy sends requests for unknown regions to the first cell, which refuses them. Each cell refuses requests for
    the other cell's region."""
    assert code(client(cells.url, "us-east-1").create_queue, QueueName="q") == "SignatureDoesNotMatch"
    assert code(client(cells.services[WEST_1], WEST_2).create_queue, QueueName="q") == "SignatureDoesNotMatch"
    assert code(client(cells.services[WEST_2], WEST_1).create_queue, QueueName="q") == "SignatureDoesNotMatch"


def test_order_over_the_bridge(cells: Cells) -> None:
    here, there = client(cells.url, WEST_1), client(cells.url, WEST_2)
    fifo = {"FifoQueue": "true"}
    source = here.create_queue(QueueName="outbox.fifo", Attributes=fifo)["QueueUrl"]
    target = there.create_queue(QueueName="inbox.fifo", Attributes=fifo)["QueueUrl"]
    sent = [(f"group-{number % 3}", str(number)) for number in range(60)]
    for group, body in sent:
        here.send_message(QueueUrl=source, MessageGroupId=group, MessageDeduplicationId=body, MessageBody=body)
    call = f"bridge({cells.url!r}, {WEST_1!r}, {source!r}, {WEST_2!r}, {target!r})"
    credentials = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    program = [sys.executable, "-c", f"{block('python', 'def bridge')}\n\n{call}"]
    with subprocess.Popen(program, env={**os.environ, **credentials}) as process:
        try:
            received: list[tuple[str, str]] = []

            def all_received() -> bool:
                response = there.receive_message(
                    QueueUrl=target, MaxNumberOfMessages=10, WaitTimeSeconds=1, AttributeNames=["All"]
                )
                for message in response.get("Messages", []):
                    received.append((message["Attributes"]["MessageGroupId"], message["Body"]))
                    there.delete_message(QueueUrl=target, ReceiptHandle=message["ReceiptHandle"])
                return len(received) >= len(sent)

            wait_until(all_received)
        finally:
            process.terminate()
    by_group = {group: [body for each, body in received if each == group] for group, _ in sent}
    assert by_group == {group: [body for each, body in sent if each == group] for group, _ in sent}
    assert not there.receive_message(QueueUrl=target).get("Messages")
