"""What the figures are computed from: prices.toml, the stacks of this repository, and the results of benchmarks."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from penstock.settings import Settings
from penstock.workers.fire import LONGEST_RUN_SECONDS
from tests.support.local_lambda.balancer import CloudFormationLoader
from tests.support.local_lambda.values import expand_for_each

ROOT = Path(__file__).resolve().parents[2]
PRICES = Path(__file__).with_name("prices.toml")
RESULTS = ROOT / "benchmarks/results"
# The functions that poll for work, and so run all the time (QUEUE_LAMBDA_WORKER_SECONDS).
POLLING = ("Deliver", "FireSchedules", "Move")
# Longest wait of a ReceiveMessage ("ReceiveMessage", SQS API Reference).
POLL_SECONDS = 20
# What Collect writes for each queue (docs/deployment.md, "Metrics").
METRICS_OF_A_QUEUE = 4
SYSTEM = "penstock"
LATENCY = ROOT / "docs/functions_latency.md"
HOT = {"SqsSendMessage", "SqsReceiveMessage", "SqsDeleteMessage"}


class Page(NamedTuple):
    """AWS's page with a price."""

    title: str
    address: str


class Price(NamedTuple):
    """US dollars for a unit."""

    dollars: float
    unit: str
    page: Page


class Processing(NamedTuple):
    """Processor seconds of the whole server side for 1,000 messages, each sent, received and deleted."""

    singly: float
    in_tens: float
    measured: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything that a figure may depend on. `assumptions` and `container` are those tables of prices.toml.

    worker_seconds, worker_memory_mb: of the functions that poll. gateway_poll_seconds: the longest wait in the gateway.
    warm_ms: least and most of what a request of a warm function takes, on a whole processor.
    """

    date: date
    region: str
    prices: Mapping[str, Price]
    assumptions: Mapping[str, float]
    container: Mapping[str, float]
    memory_mb: int
    worker_memory_mb: int
    worker_seconds: int
    gateway_poll_seconds: int
    scheduled_functions: int
    alarms: int
    fire_seconds: float
    warm_ms: tuple[float, float]
    processing: Processing

    def price(self, name: str) -> float:
        """Dollars for the unit of this price."""
        return self.prices[name].dollars


@cache
def read_inputs(prices: Path = PRICES) -> Inputs:
    """Raises OSError, and tomllib.TOMLDecodeError or KeyError for a file that lacks something."""
    document = tomllib.loads(prices.read_text())
    pages = {name: Page(**page) for name, page in document["pages"].items()}
    template, alarms = _template("template.yaml"), _template("infra/alarms/template.yaml")
    parameters, settings = template["Parameters"], Settings.read({})
    return Inputs(
        date=document["date"],
        region=document["region"],
        prices={
            name: Price(float(price["dollars"]), price["unit"], pages[price["page"]])
            for name, price in document["prices"].items()
        },
        assumptions=document["assumptions"],
        container=document["container"],
        memory_mb=template["Globals"]["Function"]["MemorySize"],
        worker_memory_mb=parameters["WorkerMemory"]["Default"],
        worker_seconds=settings.queue_lambda_worker_seconds,
        gateway_poll_seconds=settings.queue_lambda_wait_seconds,
        scheduled_functions=sum(map(_is_scheduled, template["Resources"].values())),
        alarms=len(expand_for_each(alarms["Resources"])),
        fire_seconds=LONGEST_RUN_SECONDS,
        warm_ms=_warm_ms(),
        processing=_processing(),
    )


def _template(name: str) -> dict[str, Any]:
    return dict(yaml.load((ROOT / name).read_text(), CloudFormationLoader))  # noqa: S506 - a SafeLoader


def _is_scheduled(resource: Mapping[str, Any]) -> bool:
    """Whether it is invoked unless somebody says otherwise: one that a parameter switches on is not."""
    events = resource.get("Properties", {}).get("Events", {})
    return any(
        event["Type"] == "ScheduleV2" and "State" not in event["Properties"] for event in events.values()
    )


def _warm_ms() -> tuple[float, float]:
    """Least and most of the usual latency (p50) of a send, receive and delete in a function that is warm."""
    rows = (
        line.strip("|").split("|") for line in LATENCY.read_text().splitlines() if line.startswith("| Sqs")
    )
    found = [float(row[4]) for row in rows if row[0].strip() in HOT]
    return min(found), max(found)


def _processing() -> Processing:
    dates, seconds = set(), {}
    for scenario in ("send_1", "receive_delete_1", "send_10", "receive_delete_10"):
        document = json.loads((RESULTS / f"{scenario}.json").read_text())
        (ours,) = (each for each in document["systems"] if each["system"] == SYSTEM)
        seconds[scenario] = ours["median"]["server_cpu_seconds_per_1000"]
        dates.add(document["date"][:10])
    return Processing(
        seconds["send_1"] + seconds["receive_delete_1"],
        seconds["send_10"] + seconds["receive_delete_10"],
        " to ".join(sorted({min(dates), max(dates)})),
    )
