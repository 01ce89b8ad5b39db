"""Runs one campaign: traffic, random faults from a seed, a recovery after each fault, and a check of the ledgers at the
end.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import httpx
import psycopg

from tests.support.chaos.actors import run_actors
from tests.support.chaos.faults import Fault, Scene
from tests.support.chaos.servers import ChaosInstallation
from tests.support.chaos.traffic import Endpoint, Target, Traffic, running, scheduled_for
from tests.support.ledger import Ledger

# The longest recovery, and the longest time until consumers have received every message at the end. A worker redelivers
# a killed worker's webhooks after their lease of 30 s.
RECOVERY_SECONDS: Final = 90
DRAIN_SECONDS: Final = 180
# The maximum number of a ledger's details in the report.
_MOST_DETAILS: Final = 40
Say = Callable[[str], object]
_KINDS: Final = ("send", "receive", "delete", "publish")


@dataclass
class Report:
    """Contains the results of a run.

    `violations` maps ledgers and names to counts. `recovery` lists the seconds of each recovery by fault. `background`
    lists the seconds between a fault and the schedule's next firing. `seconds` is the duration of the campaign.
    """

    seconds: int = 0
    acknowledged: int = 0
    deliveries: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    violations: dict[str, int] = field(default_factory=dict)
    excused: int = 0
    details: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    recovery: dict[str, list[float]] = field(default_factory=dict)
    background: dict[str, list[float]] = field(default_factory=dict)
    tally: dict[str, int] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        return not self.violations and not self.errors


def endless(faults: Sequence[Fault], numbers: random.Random) -> Iterator[Fault]:
    weights = [fault.weight for fault in faults]
    while True:
        yield from numbers.choices(faults, weights)


def play(
    servers: ChaosInstallation,
    faults: Iterable[Fault],
    numbers: random.Random,
    seconds: float,
    say: Say = print,
    patient: bool = True,
) -> Report:
    """Runs traffic and the faults, one after the other, until the time is over or all faults have run.

    Without `patient`, a killed worker's webhook leases end immediately instead of after 30 s.
    """
    report, webhooks, mapped, started = Report(), Ledger(), Ledger(), time.time()
    with (
        running(Endpoint(webhooks, servers.webhook_port)) as endpoint,
        running(Target(mapped, servers.mapping_port)) as target,
    ):
        ledgers = {"webhooks": webhooks, "mapped": mapped}
        traffic = Traffic(servers.ports, endpoint, target, numbers.randrange(2**31), ledgers)
        endpoint.loses = lambda: "lose webhooks" in traffic.lies
        target.loses = lambda: "lose mapped" in traffic.lies
        traffic.prepare()
        with run_actors(traffic):
            scene = Scene(servers, traffic, numbers)
            end = time.time() + seconds
            _recover(traffic, servers, report, None, 0, [])
            _play_faults(scene, faults, end, report, say)
            report.seconds = round(time.time() - started)
            traffic.stopped_sending.set()
            if not patient:
                with servers.database() as connection:
                    connection.execute(
                        "update queue.outgoing_delivery set due_at = clock_timestamp() where lease is not null"
                    )
            _drain(traffic, servers, report)
            _stop_ticking(traffic)
        _conclude(servers, traffic, endpoint, report)
    return report


def _play_faults(scene: Scene, faults: Iterable[Fault], end: float, report: Report, say: Say) -> None:
    """Runs the faults until the time `end`, or until an error occurs. After each fault, the function waits for the
    recovery.
    """
    servers, traffic = scene.servers, scene.traffic
    looked, crashes = time.time(), servers.crashes()
    for fault in faults:
        if time.time() >= end or traffic.errors or report.errors:
            break
        begun = time.time()
        try:
            recovers_from = fault.run(scene)
        # The report must keep the ledgers' violations, so an error of a fault only ends the run.
        except psycopg.Error as error:
            report.errors.append(f"{fault.name} could not be done: {error!r}")
            break
        report.faults[fault.group] = report.faults.get(fault.group, 0) + 1
        _recover(traffic, servers, report, fault, recovers_from, scene.database_back_at)
        say(f"{time.time() - begun:6.1f} s  {fault.name}")
        before, looked, earlier, crashes = looked, time.time(), crashes, servers.crashes()
        if crashes not in ([], earlier):
            scene.forgotten(since=before)
            say(f"PostgreSQL crashed: {crashes}")
        time.sleep(scene.random.uniform(0, 1))


def _recover(
    traffic: Traffic,
    servers: ChaosInstallation,
    report: Report,
    fault: Fault | None,
    since: float,
    back_at: list[float],
) -> None:
    """Waits until calls of each kind succeed, schedules fire, and each service is ready.

    Empties `back_at`, which contains the time at which the database accepted connections again.
    """
    deadline = time.time() + RECOVERY_SECONDS
    ends: dict[str, float | None] = {}
    ready = False
    with httpx.Client(verify=False, timeout=5) as http:
        while time.time() < deadline and not traffic.errors:
            time.sleep(0.05)
            ends = {kind: traffic.works_since(kind, since) for kind in (*_KINDS, "tick")}
            ready = all(ends.values()) and _are_ready(http, servers)
            if ready:
                break
    name = fault.name if fault else "the start"
    if traffic.errors:
        report.errors.append(f"traffic ended with an error after {name}")
    elif not ready:
        logs = [service.last_lines() for service in servers.services]
        report.errors.append(f"no recovery after {name}: ends of the first calls {ends}, logs {logs}")
    elif fault:
        _note(report, fault.name, since, ends)
        for back in back_at:
            _note(report, f"{fault.name}, once PostgreSQL runs", back, ends)
    back_at.clear()


def _note(report: Report, name: str, since: float, ends: dict[str, float | None]) -> None:
    # Without `max`, a schedule that fires early because of a wrong clock would give a negative number.
    *works, fires = (max(0, round(end - since, 2)) for end in ends.values() if end is not None)
    report.recovery.setdefault(name, []).append(max(works))
    report.background.setdefault(name, []).append(fires)


def _are_ready(http: httpx.Client, servers: ChaosInstallation) -> bool:
    try:
        return all(http.get(f"http://127.0.0.1:{port}/readyz").status_code == 200 for port in servers.ports)
    except httpx.HTTPError:
        return False


_BUS_IS_BEHIND: Final = """
select exists (select from queue.event_gap) or exists (select from queue.event_retry)
    or pg_sequence_last_value('queue.event_block') > (select max(w.number) >> 10 from queue.event_watermark w)
    or exists (
        select from queue.event_subscriber s, queue.event_page p
        where p.bus_id = s.bus_id and p.page > case when s.follows then queue.read_event_cursor(s.bus_id, 0)
            else queue.read_event_cursor(s.bus_id, s.subscriber_id) end)"""


def _is_bus_behind(servers: ChaosInstallation) -> bool:
    with servers.database() as connection:
        return connection.execute(_BUS_IS_BEHIND.encode()).fetchone() == (True,)


def _drain(traffic: Traffic, servers: ChaosInstallation, report: Report) -> None:
    deadline = time.time() + DRAIN_SECONDS
    while _is_bus_behind(servers) or not traffic.is_drained():
        if time.time() > deadline:
            report.errors.append("the queues did not become empty")
            return
        time.sleep(0.2)


def _stop_ticking(traffic: Traffic) -> None:
    """Waits for a schedule's tick that the service sends after the start of the wait."""
    since, deadline = time.time(), time.time() + RECOVERY_SECONDS
    while not traffic.works_since("tick", since) and time.time() < deadline:
        time.sleep(0.05)


def _conclude(servers: ChaosInstallation, traffic: Traffic, endpoint: Endpoint, report: Report) -> None:
    for name, ledger in traffic.ledgers.items():
        findings = ledger.findings()
        report.acknowledged += findings.sent
        report.deliveries += findings.deliveries
        report.excused += findings.rewound
        for what, number in findings.violations.items():
            report.violations[f"{name}: {what}"] = number
        report.details += [f"{name}: {detail}" for detail in (*ledger.details(), *ledger.lost())[:_MOST_DETAILS]]
    for what, number in (*_halves(traffic).items(), *_wrong_ticks(traffic).items()):
        if number:
            report.violations[what] = number
    report.errors += traffic.errors
    with servers.database() as connection:
        found = connection.execute("select subject, problem from queue.find_problems()")
        report.errors += [f"doctor: {subject}: {problem}" for subject, problem in found if subject != "roles"]
    report.tally = dict(traffic.tally) | {
        "webhooks that came again": sum(endpoint.came.values()) - len(endpoint.came),
        "mapped messages that came again": sum(traffic.target.came.values()) - len(traffic.target.came),
    }


def _halves(traffic: Traffic) -> dict[str, int]:
    """Returns the number of publications that reached only some of their targets."""
    a, b, webhooks = (traffic.ledgers[name].seen() for name in ("events-a", "events-b", "webhooks"))
    halves = (a | b | webhooks) - (a & b & webhooks) - traffic.ledgers["webhooks"].uncertain()
    return {"publications in halves": len(halves)}


def _wrong_ticks(traffic: Traffic) -> dict[str, int]:
    """Returns the number of seconds at which a schedule did not fire, or fired more than once."""
    with traffic._lock:
        ticks = {round(scheduled_for(fired)): ids for fired, ids in traffic.ticks.items()}
    excused = traffic.rewound_ticks
    missing = max(ticks) - min(ticks) + 1 - len(ticks) if ticks else 0
    twice = sum(len(ids) > 1 and not any(a <= second <= b for a, b in excused) for second, ids in ticks.items())
    return {"ticks: missing": missing, "ticks: fired twice": twice}
