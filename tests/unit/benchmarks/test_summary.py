"""Tests the results of studies: summaries of runs, the table of a noisy neighbour, and the costs of checks."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks.measure import host
from benchmarks.measure.cpu import Reading
from benchmarks.measure.host import HostLoad
from benchmarks.measure.outcome import Latency, Outcome, Plan
from benchmarks.neighbours.clients import local_address
from benchmarks.neighbours.noise import Done
from benchmarks.neighbours.probe import LATE_SECONDS, Sample
from benchmarks.neighbours.study import PHASES, QUIET, Phase, order, row_of
from benchmarks.options import STUDIES
from benchmarks.report import summary
from benchmarks.revisions import Cost, append_round, compare, places, plans, report
from benchmarks.scenarios import SCENARIOS, Scenario
from benchmarks.studies.checks import STATEMENTS, Variant, policy_for, rows_of

SETTINGS = {"fsync": "on", "max_connections": "100"}
OTHER = {"fsync": "on", "max_connections": "450"}
KEPT = summary.read_summaries(summary.RESULTS)


def raw_run() -> dict[str, Any]:
    figures = {"p50_ms": 2.0, "foreign_cpu_share": 0.0}
    ours = {
        "system": "penstock", "connections": 16, "marks": [], "runs": [{"elapsed": 1.5}], "rows": [{"a": 1}],
        "facts": {"version": "1", "commit": "c0ffee", "postgresql": SETTINGS},
        "median": figures, "min": {"p50_ms": 1.0}, "max": {"p50_ms": 3.0},
        "series": {"rate of pushes": [[n, n % 7] for n in range(600)], "database connections": [[0.0, 1]]},
    }  # fmt: skip
    peer = {
        "system": "pgmq", "connections": 16, "marks": ["short"], "runs": [{}], "median": figures,
        "facts": {"design": "bare", "postgresql": OTHER},
    }  # fmt: skip
    return {
        "scenario": "send_1", "date": "2026-01-02T03:04:05+00:00", "machine": {"cores": 2}, "settings": {"repeat": 3},
        "load_before": {"busy": False, "busy_share": 0.01, "load_average_1m": 0.5}, "systems": [ours, peer],
    }  # fmt: skip


def test_a_summary_has_the_figures_and_not_the_runs() -> None:
    kept = summary.summary_of(raw_run())
    ours, peer = kept["systems"]
    assert (kept["commit"], kept["date"][:10], kept["machine"]) == ("c0ffee", "2026-01-02", {"cores": 2})
    assert ours["median"] == {"p50_ms": 2.0}
    assert "min" not in ours
    assert ours["rows"] == [{"a": 1}]
    assert "runs" not in ours
    assert "runs" not in peer
    assert peer["marks"] == ["short"]


def test_settings_of_postgresql_are_told_once() -> None:
    kept = summary.summary_of(raw_run())
    assert kept["postgresql"] == SETTINGS
    assert kept["systems"][0]["facts"] == {"version": "1"}
    assert kept["systems"][1]["facts"] == {"design": "bare", "postgresql": {"max_connections": "450"}}


def test_only_curves_that_are_drawn_are_kept() -> None:
    series = summary.summary_of(raw_run())["systems"][0]["series"]
    assert list(series) == ["rate of pushes"]
    assert len(series["rate of pushes"]) <= summary.MAX_POINTS


def test_a_thinned_curve_keeps_its_peaks_in_order() -> None:
    curve = [(float(at), 1.0) for at in range(1_000)]
    curve[500], curve[777] = (500.0, 9.0), (777.0, -9.0)
    kept = summary.thin_out(curve, 100)
    assert len(kept) <= 100
    assert kept == sorted(kept)
    assert {(500.0, 9.0), (777.0, -9.0)} < set(kept)
    assert (kept[0], kept[-1]) == (curve[0], curve[-1])


def test_a_short_curve_stays_as_it_is() -> None:
    assert summary.thin_out([(0.0, 1.0), (1.0, 2.0)], 100) == [(0.0, 1.0), (1.0, 2.0)]


def test_a_run_of_which_the_page_shows_nothing_has_no_summary(tmp_path: Path) -> None:
    raw = raw_run() | {"scenario": "functions", "systems": [{"functions": []}]}
    (tmp_path / "raw.json").write_text(json.dumps(raw))
    assert summary.write_summary(tmp_path / "raw.json", tmp_path / "kept") is None
    assert not (tmp_path / "kept").exists()


def test_the_program_prints_the_summary(tmp_path: Path) -> None:
    (tmp_path / "raw.json").write_text(json.dumps(raw_run()))
    kept = tmp_path / "kept.json"
    kept.write_text('{"warski": {"scenario": "warski"}, "send_1": {}}')
    assert summary.write_summary(tmp_path / "raw.json", kept) == kept
    written = json.loads(json.dumps(summary.summary_of(raw_run())))
    assert summary.read_summaries(kept) == {"send_1": written, "warski": {"scenario": "warski"}}


def test_short_members_share_a_line_and_a_curve_has_its_own() -> None:
    curve = [[n, n % 7] for n in range(120)]
    text = summary.format_json({"a": {"b": 1}, "c": [1], "curve": curve, "rows": [{"d": curve}]})
    lines = [line.strip() for line in text.splitlines()]
    assert lines == [
        "{", '"a": {"b": 1}, "c": [1],', f'"curve": {json.dumps(curve)},', '"rows": [', "{",
        f'"d": {json.dumps(curve)}', "}", "]", "}",
    ]  # fmt: skip


@pytest.mark.parametrize("scenario", sorted(KEPT))
def test_the_repository_holds_a_small_summary_for_each_scenario(scenario: str) -> None:
    document = KEPT[scenario]
    assert document["scenario"] == scenario
    assert scenario.removesuffix("_open_loop") in STUDIES
    assert len(json.dumps(document)) < 50_000
    assert all("runs" not in system for system in document["systems"])


def test_the_repository_holds_no_raw_run() -> None:
    assert "/benchmarks/raw/" in (summary.RESULTS.parents[1] / ".gitignore").read_text().splitlines()


CORES = {"server": 1.0, "probe": 0.1, "noises": 0.5, "others": 0.0}


def phase(seconds: float, **missing: int) -> Phase:
    calls = [seconds] * 100
    return Phase(Sample(calls, calls, calls, missing), {"polls": Done(1000, 3, 1.0)}, CORES)


def test_a_ratio_is_one_of_the_same_round() -> None:
    pairs = [(phase(0.010), phase(0.015)), (phase(0.020), phase(0.030)), (phase(0.002), phase(0.020))]
    row = row_of("polls", pairs)
    assert (row["send p99 ms"], row["send : quiet"], row["goal (2)"]) == (20.0, 1.5, "reached")
    assert row["noises did"] == "polls 1,000 (3 refused)"


@pytest.mark.parametrize("kind", ["fires", "webhooks"])
def test_a_message_that_does_not_arrive_counts_as_late(kind: str) -> None:
    sample = phase(0.01, **{kind: 2}).sample
    assert sample.p99_ms(kind) == LATE_SECONDS * 1000
    assert row_of("polls", [(phase(0.01), phase(0.01, **{kind: 2}))])["goal (2)"] == "MISSED"


def test_every_round_has_every_phase_in_another_order() -> None:
    orders = [order(number) for number in range(4)]
    assert all(sorted(names) == sorted(PHASES) for names in orders)
    assert len({tuple(names) for names in orders}) == 4
    assert orders[0][0] == QUIET


def test_clients_have_addresses_of_their_own() -> None:
    found = {local_address(number)[0] for number in range(10_000)}
    assert len(found) == 10_000
    assert all(address.startswith("127.1.") and max(map(int, address.split("."))) < 255 for address in found)


def test_the_last_statement_lets_the_caller_in() -> None:
    """The policy has AWS's maximum of 20 statements and 8,192 bytes ("Amazon SQS policy quotas")."""
    text = policy_for("111122223333")
    statements = json.loads(text)["Statement"]
    assert len(statements) == STATEMENTS == 20
    assert len(text) <= 8_192
    callers = [statement["Principal"]["AWS"] for statement in statements]
    assert callers.index("111122223333") == STATEMENTS - 1


def test_quotients_are_of_the_same_round() -> None:
    known = [Variant("unsigned", {}), Variant("signed", {"QUEUE_ACCESS": "sigv4"})]
    rounds = [[Cost(cpu, 1, 2), Cost(cpu * 1.5, 2, 3)] for cpu in (1.0, 2.0, 3.0)]
    base, signed = rows_of("send_1", known, rounds)
    assert base[": unsigned"] == "1.00 (1.00 to 1.00)"
    assert (signed["CPU s/1000"], signed[": unsigned"]) == (3.0, "1.50 (1.50 to 1.50)")


# --- revisions -------------------------------------------------------------------------------------------------------
# Tests the comparison of commits, which alternates their order, does not count the first round, and computes medians of
# quotients. Tests how the benchmark measures the load of the machine: on a busy machine, the benchmark marks figures,
# waits, or refuses to measure.


PLAN = Plan(16, 1000, 100)
SEND = SCENARIOS["send_1"]


class Service:
    """Imitates a service whose runs cost the CPU seconds in `costs`, one after the other."""

    def __init__(self, name: str, order: list[str], *costs: float, bad_answers: int = 0) -> None:
        self.name, self.order, self.costs, self.bad_answers = name, order, list(costs), bad_answers

    def run(self, scenario: Scenario, plan: Plan) -> Outcome:
        self.order.append(self.name)
        before, after = Reading({"service": 1.0}, 0, 0), Reading({"service": 1.0 + self.costs.pop(0)}, 9, 9)
        latency = Latency(1, 1, 1)
        outcome = Outcome("penstock", scenario.name, plan, plan.messages, 1.0, 1, 1, latency, 0, before, after)
        outcome.bad_answers = self.bad_answers
        return outcome


def costs_of(rounds: int, *services: Service) -> list[list[float]]:
    found = compare(SEND, PLAN, cast("Any", services), rounds)
    return [[cost.cpu_seconds for cost in costs] for costs in found]


def test_the_order_changes_and_the_first_round_does_not_count() -> None:
    order: list[str] = []
    found = costs_of(2, Service("base", order, 99, 1, 2), Service("new", order, 99, 3, 4))
    assert order == ["base", "new", "base", "new", "new", "base"]
    assert [pytest.approx(pair) for pair in found] == [[1.0, 3.0], [2.0, 4.0]]


def test_the_costs_of_several_are_in_the_order_of_the_command() -> None:
    order: list[str] = []
    found = costs_of(2, *(Service(name, order, 99, int(name), int(name) * 10) for name in "123"))
    assert order[3:] == ["1", "2", "3", "3", "2", "1"]
    assert [pytest.approx(costs) for costs in found] == [[1, 2, 3], [10, 20, 30]]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_each_runs_equally_often_in_each_place_and_before_and_after_each_other(count: int) -> None:
    orders = [places(count, number) for number in range(2 * count)]
    assert [sorted(column) for column in zip(*orders, strict=True)] == [
        sorted([*range(count)] * 2) for _ in range(count)
    ]
    for number in range(count):
        for other in range(number):
            assert sum(order.index(number) < order.index(other) for order in orders) == count


def test_a_run_that_is_not_clean_has_no_cost() -> None:
    order: list[str] = []
    with pytest.raises(ValueError, match="send_1"):
        costs_of(1, Service("base", order, 1, bad_answers=1), Service("new", order, 1))


def test_idle_latency_has_one_plan() -> None:
    assert [plan.connections for plan in plans(SEND, [16, 64], 1000, 50)] == [16, 64]
    idle = plans(SCENARIOS["idle_latency"], [16, 64], 1000, 50)
    assert [(plan.connections, plan.idle_samples) for plan in idle] == [(2, 50)]


def test_a_line_for_each_new_says_medians_and_quartiles(capsys: pytest.CaptureFixture[str]) -> None:
    costs = [(1.0, 1.1, 2.0), (1.0, 1.2, 2.0), (2.0, 2.6, 4.0)]
    report(SEND, PLAN, ["base", "one", "two"], [[Cost(cpu, cpu * 2, cpu * 3) for cpu in row] for row in costs])
    one, two = (line.split() for line in capsys.readouterr().out.splitlines())
    assert one[:9] == ["send_1", "16", "connections", "one", "1.0000", "1.2000", "1.200", "(1.100", "to"]
    assert one[9:] == ["1.300)", "p50", "2.00", "2.40", "ms", "p99", "3.00", "3.60", "ms"]
    assert two[3:] == [
        *("two", "1.0000", "2.0000", "2.000", "(2.000", "to", "2.000)"),
        *("p50", "2.00", "4.00", "ms", "p99", "3.00", "6.00", "ms"),
    ]


def test_a_round_is_a_line_of_the_log(tmp_path: Path) -> None:
    append_round(None, SEND, PLAN, ["base", "new"], [Cost(1, 2, 3), Cost(4, 5, 6)])
    for _ in range(2):
        append_round(tmp_path / "log", SEND, PLAN, ["base", "new"], [Cost(1, 2, 3), Cost(4, 5, 6)])
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert (
        lines
        == [
            {
                "scenario": "send_1",
                "connections": 16,
                "costs": [
                    {"revision": "base", "cpu_seconds": 1, "p50_ms": 2, "p99_ms": 3},
                    {"revision": "new", "cpu_seconds": 4, "p50_ms": 5, "p99_ms": 6},
                ],
            }
        ]
        * 2
    )


BUSY, QUIET_HOST = HostLoad(0.5, 3.0), HostLoad(0.02, 0.1)


def loads(monkeypatch: pytest.MonkeyPatch, *found: HostLoad) -> list[float]:
    """Sets the loads that the benchmark reads one after the other. Returns the pauses that the benchmark makes."""
    seen, pauses = iter(found), list[float]()
    monkeypatch.setattr(host, "host_load", lambda: next(seen))
    monkeypatch.setattr("benchmarks.measure.host.time.sleep", pauses.append)
    return pauses


@pytest.mark.parametrize("when_busy", ["mark", "wait", "refuse"])
def test_a_quiet_host_passes(monkeypatch: pytest.MonkeyPatch, when_busy: str) -> None:
    pauses = loads(monkeypatch, QUIET_HOST)
    assert host.check_host_load(when_busy) == QUIET_HOST
    assert pauses == []


def test_a_busy_host_is_marked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    loads(monkeypatch, BUSY)
    assert host.check_host_load("mark").busy
    assert "busy (50% of all cores)" in capsys.readouterr().err


def test_a_busy_host_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    loads(monkeypatch, BUSY)
    with pytest.raises(host.BusyHostError):
        host.check_host_load("refuse")


def test_a_busy_host_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = loads(monkeypatch, BUSY, BUSY, QUIET_HOST)
    assert host.check_host_load("wait") == QUIET_HOST
    assert len(pauses) == 2
