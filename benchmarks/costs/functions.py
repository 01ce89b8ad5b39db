"""Measures the latency of cold and warm functions, in processes of awslambdaric that run the code from `sam build`.

    make lambda     # builds the functions
    python -m benchmarks.costs.functions --markdown docs/explain/functions_latency.md

A cold invocation starts a process, which imports the handler, reads its secret, connects through PgBouncer and
responds. A warm invocation uses the same process. The figures are the milliseconds from the event to its result,
without HTTP, and the processor time of the process, which depends less on other programs. If the machine is busy, the
page contains only the processor time. The benchmark excludes the scheduled functions, because their time depends on the
amount of work.
"""

import argparse
import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.measure.cpu import on_cpu_seconds
from benchmarks.measure.host import HostLoad, host_load, interpreter_text, machine
from benchmarks.measure.tally import percentile
from benchmarks.report.runs import write_results
from penstock.aws.codec import cbor
from penstock.settings import Settings
from penstock_web.local.up import UpOptions, prepare_database
from tests.support.functions.secrets_manager import secrets_manager
from tests.support.local_lambda.__main__ import PARAMETERS, serving
from tests.support.local_lambda.environment import RuntimeApi
from tests.support.local_lambda.events import EventForm, Request, event_of, response_of
from tests.support.local_lambda.fleet import Fleet
from tests.support.local_lambda.idle_network import HOST
from tests.support.local_lambda.limits import InvocationError
from tests.support.local_lambda.template import Stack, read_stack

from .function_calls import DEAD_ARN, SCHEDULER, SNS, SQS, cbor_request, json_request, request_of, scheduler_request

ROOT = Path(__file__).parents[2]
FORM: EventForm = "alb_multi_value"
HEAD = """# Latency of the functions

For operators: see how long each Lambda function takes, cold and warm.

{date}; each function had {cold} cold and {warm} warm invocations, one at a time; {unit}.

- **Cold**: a new process imports the handler, reads its secret, connects through PgBouncer and responds. The secret has
  `DATABASE_URL`; a Secrets Manager on the same machine stores it and uses TLS with all of the machine's certificate
  authorities. AWS's part of a cold start (fetching the code, starting the microVM) comes on top.
- **Processor**: the CPU time of the function's process, without PgBouncer and PostgreSQL: of the cold start
  with the least, and the mean of the warm invocations.
- **Machine**: the code from `sam build`, in processes of awslambdaric (as `make lambda`), with PostgreSQL and PgBouncer
  on the same machine: {machine}.
- **Other programs** used {busy:.0%} of the cores before the run.{busy_note}

Written by `python -m benchmarks.costs.functions --cold {cold} --warm {warm} --markdown
docs/explain/functions_latency.md`.

"""
# The note quotes the last run on an idle machine.
BUSY_NOTE = """ The processor times are therefore upper bounds, and
  latencies would mislead, so the table omits them. On 2026-11-26, on an idle Intel Xeon and with `DATABASE_URL` as a
  variable, the functions'
  cold p50 was 184 to 341 ms (Rest: 543), and their warm p50 0.7 to 4 ms (SqsSendMessage and SqsReceiveMessage: 1.8,
  SqsDeleteMessage: 2.0)."""
PROCESSOR = {"cold_processor_ms": "cold processor", "warm_processor_ms": "warm processor"}
# The table has a line for each of these functions, and one line for each service's other functions.
SHOWN = ("Gateway", "Rest", "SqsSendMessage", "SqsReceiveMessage", "SqsDeleteMessage", "SnsPublish")
LATENCY = {"cold_p50_ms": "cold p50", "cold_p99_ms": "cold p99", "warm_p50_ms": "warm p50", "warm_p99_ms": "warm p99"}


async def measure(stack: Stack, options: argparse.Namespace) -> list[dict[str, Any]]:
    runtime_api = RuntimeApi()
    async with serving(runtime_api.app, 0) as port:
        fleet = Fleet(stack.functions, runtime_api, f"{HOST}:{port}", options.python, 10)
        try:
            placeholders = await prepare(fleet)
            # Functions that delete come last, because all functions use the same message.
            names = sorted(stack.functions, key=lambda name: name.startswith("SqsDelete"))
            requests = {name: request_of(name, placeholders) for name in names}
            return [
                await measure_one(fleet, name, event_of(FORM, request), options)
                for name, request in requests.items()
                if request is not None
            ]
        finally:
            await fleet.close()


async def prepare(fleet: Fleet) -> dict[str, str]:
    """Creates the queues, topic, schedule and event bus for the requests. Returns the values of the placeholders."""
    for name in ("bench", "dead"):
        await call_gateway(fleet, json_request("SQS", "CreateQueue", {"QueueName": name}, {}))
    await call_gateway(fleet, json_request("SNS", "CreateTopic", SNS["CreateTopic"], {}))
    redrive = json.dumps({"deadLetterTargetArn": DEAD_ARN, "maxReceiveCount": 1000})
    attributes = {"QueueUrl": SQS["SendMessage"]["QueueUrl"], "Attributes": {"RedrivePolicy": redrive}}
    await call_gateway(fleet, json_request("SQS", "SetQueueAttributes", attributes, {}))
    for call in ("CreateScheduleGroup", "CreateSchedule"):
        await fleet.invoke(f"Scheduler{call}", event_of(FORM, scheduler_request(*SCHEDULER[call])))
    subscribed = await call_gateway(fleet, json_request("SNS", "Subscribe", SNS["Subscribe"], {}))
    await call_gateway(fleet, json_request("SQS", "SendMessage", SQS["SendMessage"], {}))
    receive = {**SQS["ReceiveMessage"], "VisibilityTimeout": 40000}
    received = await call_gateway(fleet, json_request("SQS", "ReceiveMessage", receive, {}))
    for _ in range(20):
        await call_gateway(fleet, json_request("SQS", "SendMessageBatch", SQS["SendMessageBatch"], {}))
    return {
        "handle": received["Messages"][0]["ReceiptHandle"],
        "subscription": subscribed["SubscriptionArn"],
        "bus": await create_bus(fleet),
    }


async def create_bus(fleet: Fleet) -> str:
    """Returns the ARN of the event bus for the requests. An earlier run can have created the bus."""
    request = cbor_request("CreateEventBus", {"Name": "bench", "ClientToken": "bench"})
    response = response_of(json.loads(await fleet.invoke("Gateway", event_of(FORM, request))))
    assert response.status == 200, response.body
    created: Any = cbor.decode(response.body)
    return str(created["EventBusArn"])


async def call_gateway(fleet: Fleet, request: Request) -> dict[str, Any]:
    """Calls the gateway and returns its response, which must have status 200."""
    response = response_of(json.loads(await fleet.invoke("Gateway", event_of(FORM, request))))
    assert response.status == 200, response.body
    return dict(json.loads(response.body or b"{}"))


async def measure_one(fleet: Fleet, name: str, event: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    cold: list[float] = []
    warm: list[float] = []
    processor: list[float] = []
    statuses = set()
    for count, samples in ((options.cold, cold), (options.warm, warm)):
        for _ in range(count):
            if samples is cold:
                await fleet.stop_idle(name)
            began = time.perf_counter()
            response = response_of(json.loads(await fleet.invoke(name, event)))
            samples.append((time.perf_counter() - began) * 1000)
            if samples is warm:
                statuses.add(response.status)
            else:
                processor.append(processor_ms(fleet, name))
    warm_processor = (processor_ms(fleet, name) - processor[-1]) / options.warm
    figures = {
        f"{kind}_p{part}_ms": round(percentile(sorted(samples), part / 100), 1)
        for kind, samples in (("cold", cold), ("warm", warm))
        for part in (50, 99)
    }
    used = {"cold_processor_ms": round(min(processor), 1), "warm_processor_ms": round(warm_processor, 2)}
    line = {"function": name, "statuses": sorted(statuses), **figures, **used}
    print(" ".join(f"{value}" for value in line.values()), flush=True)
    return line


def processor_ms(fleet: Fleet, name: str) -> float:
    """Returns the processor time of a function's only process."""
    (pid,) = (each.pid for each in fleet.environments if each.function.name == name and each.is_alive)
    assert pid is not None
    return on_cpu_seconds(pid) * 1000


def as_markdown(lines: list[dict[str, Any]], options: argparse.Namespace, load: HostLoad) -> str:
    facts = machine()
    columns = PROCESSOR if load.busy else LATENCY | PROCESSOR
    head = HEAD.format(
        machine=f"{facts['cores']} cores, {facts['cpu']}, {facts['kernel']}, {interpreter_text(facts)}",
        busy=load.busy_share,
        busy_note=BUSY_NOTE if load.busy else "",
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        unit="milliseconds of processor time" if load.busy else "milliseconds from the event to the response",
        cold=options.cold,
        warm=options.warm,
    )
    titles = ["function", *columns.values()]
    rows = [titles, ["---"] * len(titles)]
    rows += [[line["function"], *(line[key] for key in columns)] for line in lines if line["function"] in SHOWN]
    for service in ("Sqs", "Sns", "Scheduler", "Events"):
        others = [each for each in lines if each["function"].startswith(service) and each["function"] not in SHOWN]
        ranges = ([each[key] for each in others] for key in columns)
        rows.append([f"{len(others)} others, `{service}…`", *(f"{min(each)} to {max(each)}" for each in ranges)])
    return head + "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)


def main() -> int:
    """Prints a line for each function. Returns 2 if the build, a program or the database is missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs.functions", description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / ".aws-sam/build")
    parser.add_argument("--python", type=Path, default=ROOT / ".tools/lambda/bin/python")
    parser.add_argument("--cold", type=int, default=10, help="cold starts a function")
    parser.add_argument("--warm", type=int, default=200, help="warm invocations a function")
    parser.add_argument("--markdown", type=Path, help="write the table there")
    parser.add_argument("--no-results", action="store_true", help="write no results file")
    options = parser.parse_args()
    load = host_load()
    with ExitStack() as stack:
        settings, _, _ = prepare_database(Settings.read({}), UpOptions(HOST, 0, ephemeral=True), stack)
        manager = stack.enter_context(secrets_manager(parent=options.build))
        manager.store(DATABASE_URL=settings.database_url)
        secret = {"QUEUE_SECRET": manager.name, **manager.variables}
        variables = {**secret, "QUEUE_PURGE_INTERVAL_SECONDS": "0"}
        try:
            lines = uvloop.run(measure(read_stack(options.build, PARAMETERS, variables), options))
        except (InvocationError, OSError) as error:
            print(f"benchmarks.costs.functions: {error}", file=sys.stderr)
            return 2
    if options.markdown:
        options.markdown.write_text(as_markdown(lines, options, load))
    if not options.no_results:
        plan = {"cold": options.cold, "warm": options.warm}
        write_results("functions", [{"functions": lines}], plan, machine(), load)
    return 0


if __name__ == "__main__":
    sys.exit(main())
