"""Measures how late webhooks and one-shot schedules are on functions alone, in processes of awslambdaric.

make lambda (once, it builds)   then   python -m benchmarks.costs.late_functions --run 0 65

The scheduled functions are invoked once a minute, as on AWS. Webhooks: seconds from the answer to Publish until its
notification is posted. Schedules: seconds from the second that at() names until the message is sent, as its
SentTimestamp says. They come at random moments. `--run`: values of QUEUE_LAMBDA_WORKER_SECONDS, each measured with
functions and a database of its own.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import uvloop

from benchmarks.measure.host import HostLoad, host_load
from benchmarks.measure.tally import percentile
from penstock.settings import Settings
from penstock_web.local.up import UpOptions, with_database
from tests.support.local_lambda.__main__ import serving
from tests.support.local_lambda.errors import InvocationError
from tests.support.local_lambda.events import event_of, response_of
from tests.support.local_lambda.fleet import Fleet
from tests.support.local_lambda.idle_network import HOST
from tests.support.local_lambda.runtime_api import RuntimeApi
from tests.support.local_lambda.schedules import run_schedules
from tests.support.local_lambda.template import Stack, read_stack

from .function_calls import json_request, scheduler_request
from .functions import FORM, ROOT, call_gateway

WORKERS: Final = ("DeliverWebhooks", "FireSchedules")
QUEUE_URL: Final = "http://sqs.internal/000000000000/late"
QUEUE_ARN: Final = "arn:aws:sqs:us-east-1:000000000000:late"
TOPIC_ARN: Final = "arn:aws:sns:us-east-1:000000000000:late"
LEAD_SECONDS: Final = (1, 45)
"""How long before it is due a schedule is created: at least, at most."""
CONCURRENCY: Final = 20


class Late(NamedTuple):
    """Seconds, of each webhook and each schedule; `memory_mib`: of a process of each worker, at most."""

    webhooks: list[float]
    schedules: list[float]
    memory_mib: dict[str, float]


class Endpoint:
    """An HTTP endpoint. `arrived`: when each message came, by its text; `token`: that of its subscription."""

    def __init__(self) -> None:
        new_future = asyncio.get_running_loop().create_future
        self.arrived: defaultdict[str, asyncio.Future[float]] = defaultdict(new_future)
        self.token: asyncio.Future[str] = new_future()
        self.port = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listens on a free port."""
        server = await asyncio.start_server(self._serve, HOST, 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                (length,) = (line for line in head.split(b"\r\n") if line.startswith(b"content-length:"))
                message = json.loads(await reader.readexactly(int(length.partition(b":")[2])))
                if "Token" in message:
                    self.token.set_result(message["Token"])
                else:
                    self.arrived[message["Message"]].set_result(time.time())
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()


class Memory:
    """What the processes of the workers have at most, as a look each second finds it."""

    def __init__(self) -> None:
        self.most_mib: dict[str, float] = {}

    async def watch(self, fleet: Fleet) -> None:
        """Until it is cancelled."""
        while True:
            for environment in fleet.environments:
                name = environment.function.name
                if name in WORKERS:
                    self.most_mib[name] = max(self.most_mib.get(name, 0.0), environment.memory_mib())
            await asyncio.sleep(1)


async def measure(stack: Stack, options: argparse.Namespace) -> Late:
    """All figures of one stack."""
    runtime_api, endpoint, memory = RuntimeApi(), Endpoint(), Memory()
    async with serving(runtime_api.app, 0) as port, endpoint.running():
        fleet = Fleet(stack.functions, runtime_api, f"{HOST}:{port}", options.python, CONCURRENCY)
        background = (
            asyncio.create_task(run_schedules(stack.schedules, fleet.invoke)),
            asyncio.create_task(memory.watch(fleet)),
        )
        try:
            await prepare(fleet, endpoint)
            webhooks, schedules = await asyncio.gather(
                measure_webhooks(fleet, endpoint, options), measure_schedules(fleet, options)
            )
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            await fleet.close()
    return Late(webhooks, schedules, memory.most_mib)


async def prepare(fleet: Fleet, endpoint: Endpoint) -> None:
    """Makes the queue, and the topic with its confirmed subscription."""
    await call_gateway(fleet, json_request("SQS", "CreateQueue", {"QueueName": "late"}, {}))
    await sns(fleet, "CreateTopic", Name="late")
    await sns(
        fleet, "Subscribe", TopicArn=TOPIC_ARN, Protocol="http", Endpoint=f"http://{HOST}:{endpoint.port}/"
    )
    await sns(fleet, "ConfirmSubscription", TopicArn=TOPIC_ARN, Token=await endpoint.token)


async def sns(fleet: Fleet, action: str, **members: object) -> None:
    await call_gateway(fleet, json_request("SNS", action, members, {}))


async def measure_webhooks(fleet: Fleet, endpoint: Endpoint, options: argparse.Namespace) -> list[float]:
    """Publishes at random moments."""

    async def publish(number: int) -> float:
        await asyncio.sleep(random.uniform(0, options.seconds))
        await sns(fleet, "Publish", TopicArn=TOPIC_ARN, Message=str(number))
        published = time.time()
        return max(0.0, await endpoint.arrived[str(number)] - published)

    return await asyncio.gather(*map(publish, range(options.number)))


async def measure_schedules(fleet: Fleet, options: argparse.Namespace) -> list[float]:
    """Creates one-shot schedules at random moments, each some seconds before it is due."""
    due: dict[str, datetime] = {}

    async def create(number: int) -> None:
        await asyncio.sleep(random.uniform(0, options.seconds))
        lead = random.uniform(*LEAD_SECONDS)
        at = (datetime.now(UTC) + timedelta(seconds=lead + 1)).replace(microsecond=0)
        due[str(number)] = at
        await create_schedule(fleet, f"late-{number}", at, str(number))

    await asyncio.gather(*map(create, range(options.number)))
    late: dict[str, float] = {}
    while len(late) < options.number:
        for body, sent_at in await receive(fleet):
            late[body] = max(0.0, sent_at - due[body].timestamp())
        await asyncio.sleep(0.5)
    return list(late.values())


async def create_schedule(fleet: Fleet, name: str, at: datetime, text: str) -> None:
    body = {
        "ScheduleExpression": f"at({at:%Y-%m-%dT%H:%M:%S})",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {"Arn": QUEUE_ARN, "RoleArn": "arn:aws:iam::000000000000:role/r", "Input": text},
    }
    event = event_of(FORM, scheduler_request("POST", f"/schedules/{name}", body))
    response = response_of(json.loads(await fleet.invoke("SchedulerCreateSchedule", event)))
    if response.status != 200:
        raise InvocationError(response.body.decode())


async def receive(fleet: Fleet) -> list[tuple[str, float]]:
    """Body and time of sending, in seconds since 1970, of each message that was there."""
    members = {
        "QueueUrl": QUEUE_URL,
        "MaxNumberOfMessages": 10,
        "VisibilityTimeout": 40_000,
        "MessageSystemAttributeNames": ["SentTimestamp"],
    }
    answer = await call_gateway(fleet, json_request("SQS", "ReceiveMessage", members, {}))
    messages: list[dict[str, Any]] = answer.get("Messages", [])
    return [(m["Body"], int(m["Attributes"]["SentTimestamp"]) / 1000) for m in messages]


def report(run: int, late: Late, load: HostLoad) -> None:
    """Prints the rows of one value of --run."""
    for kind, seconds in (("webhooks", late.webhooks), ("schedules", late.schedules)):
        p50, p99 = (percentile(seconds, part) for part in (0.5, 0.99))
        print(f"| {run} | {kind} | {len(seconds)} | {p50:.2f} | {p99:.2f} | {max(seconds):.2f} |")
    memory = ", ".join(f"{name} {mib:.0f} MiB" for name, mib in sorted(late.memory_mib.items()))
    print(f"memory: {memory}; others used {load.busy_share:.0%} of the cores before", flush=True)


def main() -> int:
    """Prints a table. Returns 2 when the build, a program or the database is missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs.late_functions", description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / ".aws-sam/build")
    parser.add_argument("--python", type=Path, default=ROOT / ".tools/lambda/bin/python")
    parser.add_argument("--run", type=int, nargs="+", default=[0, 65], metavar="SECONDS")
    parser.add_argument("--number", type=int, default=30, help="of webhooks, and of schedules")
    parser.add_argument("--seconds", type=float, default=180, help="in which they are published and created")
    options = parser.parse_args()
    print("| run, s | what | number | p50, s | p99, s | worst, s |")
    print("| --- | --- | --- | --- | --- | --- |")
    for run in options.run:
        load = host_load()
        with ExitStack() as stack:
            settings, _, _ = with_database(Settings.read({}), UpOptions(HOST, 0, ephemeral=True), stack)
            variables = {
                "DATABASE_URL": settings.database_url,
                "QUEUE_LAMBDA_WORKER_SECONDS": str(run),
                "WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8",
            }
            parameters = {"Access": "off"}
            try:
                late = uvloop.run(measure(read_stack(options.build, parameters, variables), options))
            except (InvocationError, OSError) as error:
                print(f"benchmarks.costs.late_functions: {error}", file=sys.stderr)
                return 2
        report(run, late, load)
    return 0


if __name__ == "__main__":
    sys.exit(main())
