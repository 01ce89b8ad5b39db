"""Measures, in alternating runs, how much CPU time the checks of signatures and policies take for each message.

Each variant has a separate service and database. All services run all the time, and their order changes in each round,
as in `benchmarks.revisions`. A quotient compares runs of the same round.
"""

import base64
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from benchmarks.load.driver import Callers
from benchmarks.load.wire import ACCOUNT
from benchmarks.measure.outcome import Plan
from benchmarks.penstock import Penstock
from benchmarks.report.rows import Row, text
from benchmarks.revisions import Cost, compare
from benchmarks.scenarios import SCENARIOS

from .study import Bench, Findings, Study

PARTNER = "111122223333"
# This is the maximum length of a queue's policy ("Amazon SQS policy quotas", SQS Developer Guide).
STATEMENTS = 20
SCENARIO_NAMES = ("send_1", "receive_delete_1")
CONNECTIONS = 16
ROUNDS = 10
MESSAGES = 8_000


@dataclass(frozen=True, slots=True)
class Variant:
    """Describes the checks of a service. If `policy` is true, the queue has a policy, and the caller belongs to another
    account.
    """

    name: str
    settings: Mapping[str, str]
    policy: bool = False


def sigv4() -> dict[str, str]:
    """Returns the settings of a service that verifies signatures."""
    key = base64.b64encode(secrets.token_bytes(32)).decode()
    return {"QUEUE_ACCESS": "sigv4", "QUEUE_ENCRYPTION_KEY": key}


def variants() -> list[Variant]:
    """Returns the variants. The study compares all other variants with the first variant."""
    return [
        Variant("unsigned", {}),
        Variant("signed", sigv4()),
        Variant("signed, by a policy of 20 statements", sigv4(), policy=True),
        Variant("signed, with a quota of requests", sigv4() | {"QUOTA_REQUESTS_PER_SECOND": "1000000"}),
    ]


def policy_for(account: str) -> str:
    """Returns a policy with STATEMENTS statements. The last statement allows this account."""
    others = [
        {
            "Effect": "Allow",
            "Principal": {"AWS": f"{number:012}"},
            "Action": ["sqs:SendMessage", "sqs:ReceiveMessage"],
            "Resource": "*",
            "Condition": {"ArnLike": {"aws:SourceArn": f"arn:aws:sns:*:*:topic-{number}-*"}},
        }
        for number in range(1, STATEMENTS)
    ]
    allowed = ["sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage"]
    last = {"Effect": "Allow", "Principal": {"AWS": account}, "Action": allowed, "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [*others, last]}, separators=(",", ":"))


def start(variant: Variant, bench: Bench) -> Penstock:
    """Starts a service. The load generator signs requests if the variant requires signatures."""
    service = bench.another_penstock(variant.settings)
    if variant.settings:
        owner = service.create_key(ACCOUNT)
        service.callers = (
            Callers(owner, service.create_key(PARTNER), policy_for(PARTNER)) if variant.policy else Callers(owner)
        )
    return service


def measure(bench: Bench) -> Findings:
    """Runs all variants in turn, and returns rows with the medians over the rounds."""
    known = variants()
    services = [start(variant, bench) for variant in known]
    plan, rounds = Plan(CONNECTIONS, bench.scaled(MESSAGES, 500), 100), bench.scaled(ROUNDS, 2)
    rows: list[Row] = []
    for name in SCENARIO_NAMES:
        rows += rows_of(name, known, list(compare(SCENARIOS[name], plan, services, rounds)))
    facts = services[0].facts() | {"pss_bytes": services[0].pss_bytes()}
    for service in services:
        service.stop()
    print(text(rows), flush=True)
    return Findings([{"system": "penstock", "facts": facts, "rows": rows, "marks": []}], valid=True)


def rows_of(scenario: str, known: Sequence[Variant], rounds: Sequence[list[Cost]]) -> list[Row]:
    """Returns a row for each variant, with the median and the quartiles of the quotients of this variant with the first
    variant."""
    return [
        row_of(scenario, variant.name, [costs[0] for costs in rounds], [costs[place] for costs in rounds])
        for place, variant in enumerate(known)
    ]


def row_of(scenario: str, name: str, base: Sequence[Cost], found: Sequence[Cost]) -> Row:
    ratios = [cost.cpu_seconds / before.cpu_seconds for before, cost in zip(base, found, strict=True)]
    low, middle, high = quantiles(ratios, n=4)
    return {
        "scenario": scenario,
        "checks": name,
        "CPU s/1000": round(median(cost.cpu_seconds for cost in found), 4),
        ": unsigned": f"{middle:.2f} ({low:.2f} to {high:.2f})",
        "rounds": len(found),
        "p50 ms": round(median(cost.p50_ms for cost in found), 2),
        "p99 ms": round(median(cost.p99_ms for cost in found), 2),
    }


STUDIES = [Study("checks", "CPU of signatures and policies for each message", measure, alone=True)]
