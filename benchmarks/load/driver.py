"""Generates load for services that speak SQS JSON: fills a queue, measures, drains, and compares the message ids.

python -m benchmarks.load.driver --endpoint http://127.0.0.1:9324 --scenario send_1 --connections 16
"""

import argparse
import itertools
import sys
from dataclasses import dataclass, replace

from benchmarks.measure.cpu import Meter, Reading
from benchmarks.measure.outcome import Outcome, Plan, StageCallback, ignore_stages, latency_of
from benchmarks.measure.tally import Tally, Verdict, compare_ids
from benchmarks.scenarios import SCENARIOS, Scenario

from .fleet import Fleet, PhaseOrder
from .flows import BATCH_LIMIT, drain_queue, send_singly, send_tens
from .wire import ACCOUNT, Action, Address, Key, address_of, create_queue, delete_queue

SWEEP_CONNECTIONS = 8
MAX_BATCH_BYTES = 1_000_000  # AWS limits the total length of the messages in a batch to 1 MiB.
queue_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Callers:
    """Holds the keys of the callers that create and use queues, and the queue policy. `owner` creates the queues. If
    `user` is None, `owner` also uses the queues.
    """

    owner: Key | None = None
    user: Key | None = None
    policy: str = ""


class HttpLoad:
    """Runs scenarios against one endpoint. Each scenario has a new queue."""

    def __init__(self, system: str, endpoint: str, fleet: Fleet, meter: Meter, callers: Callers | None = None) -> None:
        self._callers = callers or Callers()
        self._system = system
        self._endpoint = endpoint
        self._fleet = fleet
        self._meter = meter

    def run(self, scenario: Scenario, plan: Plan, watch: StageCallback = ignore_stages) -> Outcome:
        """Makes one run, and calls `watch` at each stage.

        The stages are "empty", "filled" (followed by the measured time), "measured" and "drained".
        """
        name = f"bench-{scenario.name.replace('_', '-')}-{next(queue_numbers)}"
        callers = self._callers
        account = callers.owner.account if callers.owner else ACCOUNT
        own = address_of(self._endpoint, f"{name}.fifo" if scenario.fifo else name, account, callers.owner)
        address = replace(own, key=callers.user or callers.owner)
        given = {"FifoQueue": "true" if scenario.fifo else "", "Policy": callers.policy}
        create_queue(own, **{attribute: value for attribute, value in given.items() if value})
        watch("empty")
        fill = self._fill(scenario, plan, address)
        watch("filled")
        readings: list[Reading] = []
        order = order_of(scenario, plan, address)
        measured = self._fleet.run(order, lambda: readings.append(self._meter.read()))
        watch("measured")
        rest = self._fleet.run(PhaseOrder(address, plan.body, (drain_queue,), SWEEP_CONNECTIONS))
        watch("drained")
        delete_queue(own)
        verdict = compare_ids(
            fill.acknowledged + measured.acknowledged,
            measured.received + rest.received,
            measured.deleted + rest.deleted,
        )
        bad = fill.bad_answers + rest.bad_answers
        return outcome_of(self._system, scenario, plan, measured, readings, verdict, bad)

    def _fill(self, scenario: Scenario, plan: Plan, address: Address) -> Tally:
        waiting = plan.held + (plan.messages if scenario.filled else 0)
        if not waiting:
            return Tally()
        fits = BATCH_LIMIT * len(plan.body) <= MAX_BATCH_BYTES
        return self._fleet.run(
            PhaseOrder(address, plan.body, (send_tens if fits else send_singly,), 16, to_send=waiting)
        )


def outcome_of(
    system: str,
    scenario: Scenario,
    plan: Plan,
    measured: Tally,
    readings: list[Reading],
    verdict: Verdict,
    other_bad_answers: int = 0,
) -> Outcome:
    """Computes the figures of a measured phase. `readings` are the counters from before and after the phase."""
    sent, received = len(measured.acknowledged), min(len(set(measured.received)), measured.deleted)
    send_seconds = measured.seconds_until(Action.SEND, Action.SEND_BATCH)
    elapsed = measured.seconds_until(*scenario.counted)
    return Outcome(
        system=system,
        scenario=scenario.name,
        plan=plan,
        messages=received if scenario.drains else sent,
        elapsed_seconds=elapsed,
        sent_per_second=sent / send_seconds if send_seconds else 0.0,
        received_per_second=received / elapsed if elapsed and scenario.drains else 0.0,
        latency=latency_of(measured.waits_seconds or all_calls(measured)),
        generator_cpu_seconds=measured.generator_cpu_seconds,
        before=readings[0],
        after=readings[1],
        calls={action.value: latency_of(s) for action, s in measured.call_seconds.items() if s},
        verdict=verdict,
        empty_receives=measured.empty_receives,
        bad_answers=measured.bad_answers + other_bad_answers,
        bad_samples=measured.bad_samples,
    )


def order_of(scenario: Scenario, plan: Plan, address: Address) -> PhaseOrder:
    return PhaseOrder(
        address,
        plan.body,
        scenario.measured,
        plan.connections,
        to_send=plan.messages,
        to_receive=plan.messages,
        idle_samples=0 if scenario.measured else plan.idle_samples,
        processes=plan.processes,
        rate=plan.rate,
    )


def all_calls(tally: Tally) -> list[float]:
    return list(itertools.chain.from_iterable(tally.call_seconds.values()))


def main() -> int:
    """Runs a scenario once against a running service. benchmarks.run repeats scenarios and compares systems."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--endpoint", default="http://127.0.0.1:9324")
    parser.add_argument("--pid", type=int, action="append", default=[], help="service process to account for")
    parser.add_argument("--scenario", choices=sorted(SCENARIOS), default="send_1")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--body-bytes", type=int, default=100)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--rate", type=float, default=0.0, help="messages a second, open loop; 0: closed loop")
    options = parser.parse_args()
    fleet = Fleet(options.processes)
    try:
        load = HttpLoad(options.endpoint, options.endpoint, fleet, Meter({"service": options.pid}))
        plan = Plan(options.connections, options.messages, options.body_bytes, rate=options.rate)
        outcome = load.run(SCENARIOS[options.scenario], plan)
    finally:
        fleet.close()
    print(
        f"{outcome.messages_per_second:,.0f} msg/s, p50 {outcome.latency.p50_ms:.2f} ms, "
        f"p99 {outcome.latency.p99_ms:.2f} ms, server CPU {outcome.server_cpu_seconds_per_1000:.4f} s/1,000, "
        f"load generator {outcome.generator_cpu_seconds:.2f} s, {outcome.verdict}, "
        f"empty receives {outcome.empty_receives}, bad answers {outcome.bad_answers} {outcome.bad_samples}"
    )
    return 0 if outcome.valid else 1


if __name__ == "__main__":
    sys.exit(main())
