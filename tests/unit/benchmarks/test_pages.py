"""Tests that the benchmark pages name exactly the scenarios and pictures that exist."""

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from benchmarks import pgbench, run
from benchmarks.measure.host import HostLoad, is_optimised, machine
from benchmarks.options import GROUPS, STUDIES, arguments, select_studies
from benchmarks.peers.makers import PEERS
from benchmarks.penstock import Penstock
from benchmarks.report import page as report_page
from benchmarks.report import pictures, runs, summary
from benchmarks.report.pictures import axis_of, chart, format_tick
from benchmarks.report.rows import compared, line_of, markdown, with_multiples
from benchmarks.studies import million, study
from benchmarks.studies.study import Bench, Document, Findings, Study
from benchmarks.system import UnavailableError
from penstock_web.report.svg import Scale, round_ticks

README = Path(__file__).parents[3] / "benchmarks" / "README.md"


def test_the_readme_names_every_scenario_and_peer() -> None:
    text = README.read_text()
    assert [name for name in (*STUDIES, *PEERS) if f"`{name}`" not in text] == []


def test_a_group_means_its_studies_once_and_in_order() -> None:
    assert [study.name for study in select_studies(["warski", "warski_threads"])] == list(GROUPS["warski"])
    assert len(select_studies(["all"])) == len(STUDIES)


def test_names_may_stand_with_commas() -> None:
    options = arguments(["--scenario", "send_1,warski", "--peers", "pgmq,bullmq"], "")
    assert options.scenario == ["send_1", "warski"]
    assert options.peers == ["pgmq", "bullmq"]


@pytest.mark.parametrize("wrong", [["--scenario", "nothing"], ["--peers", "nobody"]])
def test_unknown_names_are_refused(wrong: list[str]) -> None:
    with pytest.raises(SystemExit):
        arguments(wrong, "")


@pytest.mark.parametrize(("rough", "step"), [(0.3, 0.5), (1.0, 1.0), (1.1, 2.0), (26, 50), (700, 1_000)])
def test_steps_are_round(rough: float, step: float) -> None:
    assert round_ticks(5 * rough, 5)[1] == pytest.approx(step)


def test_an_axis_holds_all_values() -> None:
    axis = axis_of([0, 7, 93], 0, 1)
    assert (axis.scale.low, axis.scale.high) == (0, 100)
    assert axis.ticks == [0, 20, 40, 60, 80, 100]


def test_a_logarithmic_axis_has_powers_of_ten() -> None:
    axis = axis_of([0, 20, 4_000], 0, 1, logarithmic=True)
    assert axis.ticks == [10, 100, 1_000, 10_000]
    assert [axis(0), axis(10), axis(10_000)] == [0, 0, 1]


def test_a_flat_axis_is_no_division_by_zero() -> None:
    assert Scale(1, 1, 0, 1)(1) == 0
    assert axis_of([0.0, 0.0], 0, 1)(0.0) == 0
    assert axis_of([100.0], 0, 1, logarithmic=True)(100.0) == 0


def test_a_chart_is_well_formed_and_escapes_names() -> None:
    root = ET.fromstring(chart("a < b", "x & y", "z", {"c<d": [(1, 2), (0, 1)], "e": [(2, 3)]}))
    curves = [element.attrib["d"] for element in root.iter() if element.tag.endswith("path")]
    assert len(curves) == 2
    first = [float(pair.split()[0]) for pair in curves[0].removeprefix("M").split("L")]
    assert first == sorted(first)
    texts = {element.text for element in root.iter() if element.tag.endswith("text")}
    assert {"a < b", "x & y", "c<d"} < texts


def test_an_unmeasured_value_is_a_dash() -> None:
    """The page shows a dash for a client that does not measure its calls. For a client that does not measure its calls,
    the summary contains 0."""
    document = summary.read_summaries(summary.RESULTS)["receive_delete_10"]
    rows = {row["p50"]: row for row in report_page.rows_of_systems([document], "p50", "p50_ms")}
    assert rows["bullmq"]["receive_delete_10"] is None
    assert rows["penstock"]["receive_delete_10"] is not None
    assert not re.search(r"p\d+ ms.*\| 0 \|", report_page.PAGE.read_text())


def test_the_page_begins_with_who_needs_less() -> None:
    document = summary.read_summaries(summary.RESULTS)["receive_delete_10"]
    (row,) = report_page.rows_in_short(document)
    assert [part.split()[0] for part in str(row["less CPU"]).split(", ")] == [
        "rabbitmq-quorum", "fauxqs", "rabbitmq-classic",
    ]  # fmt: skip


def test_a_table_says_once_what_is_equal_in_all_rows() -> None:
    rows: list[dict[str, object]] = [
        {"queues": 1, "ms": 4, "lost": 0, "verdict": "clean", "marks": ""},
        {"queues": 10, "ms": 7, "lost": 0, "verdict": "clean", "marks": ""},
    ]
    table = "| queues | ms |\n| --- | ---: |\n| 1 | 4 |\n| 10 | 7 |"
    assert report_page.condense(rows) == f"{table}\n\nIn each row: verdict clean; 0 lost."


@pytest.mark.parametrize(("value", "text"), [(20_000, "20k"), (5e6, "5M"), (0.25, "0.25"), (0, "0")])
def test_scales_are_short(value: float, text: str) -> None:
    assert format_tick(value) == text


@pytest.mark.parametrize(
    ("service", "database", "ratio", "met"),
    [(5.0, 60.0, 0.95, True), (5.1, 60.0, 0.95, False), (5.0, 60.1, 0.95, False), (5.0, 60.0, 0.94, False)],
)
def test_the_goals_of_the_million(service: float, database: float, ratio: float, met: bool) -> None:
    """The service can grow by 5 MB and the database by 60 MB. The rate of receives must be at least 0.95 of the rate
    with an empty queue."""
    empty = {"stage": "empty", "service MiB": 50.0, "postgresql MiB": 40.0, "disk MiB": None}
    filled = {"stage": "filled", "service MiB": 50 + service, "postgresql MiB": 40 + database, "disk MiB": 9}
    row = million.growth_of([empty, filled])
    assert "disk MiB more" not in row
    assert million.reaches_goals(row | {"ratio": ratio}) is met


def test_pictures_are_of_studies() -> None:
    assert set(pictures.ROWS) <= set(STUDIES)


def results_document(scenario: str, system: dict[str, object]) -> dict[str, object]:
    return {
        "scenario": scenario,
        "date": "2026-01-02T03:04:05+00:00",
        "commit": "c0ffee",
        "machine": {"cpu": "c", "cores": 2, "kernel": "k"},
        "settings": {},
        "load_before": {"busy": False, "busy_share": 0.01},
        "systems": [system],
    }


def test_the_page_shows_the_last_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "FOLDER", tmp_path / "pictures")
    raw, kept = tmp_path / "raw", tmp_path / "results.json"
    raw.mkdir()
    for day, rate in (("01", 111.0), ("02", 222.0)):
        rows = [{"threads": 1, "received/s": rate}, {"threads": 5, "received/s": 2 * rate}]
        system: dict[str, object] = {"system": "penstock", "rows": rows, "marks": ["busy host"], "facts": {}}
        document = results_document("warski_threads", system)
        (raw / f"2026-01-{day}.json").write_text(json.dumps(document))
        summary.write_summary(raw / f"2026-01-{day}.json", kept)
    assert list(summary.read_summaries(kept)) == ["warski_threads"]
    text = report_page.studies_page(summary.read_summaries(kept))
    assert "| 5 | 444 |" in text
    assert "111" not in text
    assert "busy host" in text
    assert "![warski-threads](warski-threads.svg)" in text
    assert (tmp_path / "pictures" / "warski-threads.svg").exists()


def test_the_table_of_goals_says_what_was_to_be_reached(tmp_path: Path) -> None:
    figures = {
        "messages_per_second": 20_000.0, "sent_per_second": 20_000.0, "server_cpu_seconds_per_1000": 0.05,
        "generator_cpu_seconds_per_1000": 0.02, "p50_ms": 0.7, "p99_ms": 2.0,
    }  # fmt: skip
    system: dict[str, object] = {
        "system": "penstock", "connections": 16, "median": figures, "marks": [], "facts": {}
    }  # fmt: skip
    text = report_page.page({"send_1": results_document("send_1", system)})
    assert "15,000 msg/s, 0.06 s" in text
    assert "20,000" in text


@pytest.mark.parametrize(
    ("recorded", "running", "text"),
    [
        ({"python": "3.11.2"}, False, "Python 3.11.2, of unknown build"),
        (
            {"python": "3.11.2", "python_implementation": "CPython", "python_optimised": True},
            False,
            "CPython 3.11.2, optimised",
        ),
        (
            {"python": "3.13.1", "python_implementation": "CPython", "python_optimised": False},
            True,
            "CPython 3.13.1, plain, of the runner beside a service that ran already",
        ),
    ],
)
def test_results_name_the_interpreter(recorded: dict[str, object], running: bool, text: str) -> None:
    document = {"scenario": "send_1", "machine": recorded, "settings": {"service_was_running": running}}
    assert report_page.interpreter_of(document) == text
    again = document | {"scenario": "send_10"}
    assert report_page.interpreters([document, again]) == f"Interpreter: {text} (send_1, send_10)."


def test_the_recorded_machine_names_its_interpreter() -> None:
    recorded = machine()
    assert recorded["python"] == platform.python_version()
    assert recorded["python_implementation"] == platform.python_implementation()
    assert recorded["python_optimised"] is is_optimised()


@pytest.mark.parametrize(
    ("ours", "marks", "told"),
    [
        # The goal is 0.060 s, and pgmq needed 0.090 s.
        (0.078, [], ["| pgmq | 0.65 | 0.67 | yes |"]),
        (0.09, [], ["| pgmq | 0.75 | 0.67 | no |"]),
        (0.078, ["INVALID: lost"], []),
    ],
)
def test_a_goal_beside_a_peer(ours: float, marks: list[str], told: list[str]) -> None:
    cpu = {"penstock": ours, "pgmq": 0.12, "unknown": 0.01}
    systems = [
        {"system": name, "connections": 16, "median": {"server_cpu_seconds_per_1000": value},
         "marks": marks if name == "pgmq" else []}
        for name, value in cpu.items()
    ]  # fmt: skip
    rows = list(report_page.rows_beside_peers({"scenario": "send_1", "systems": systems}))
    assert markdown(rows).splitlines()[2:] == [f"| send_1 | CPU {line}" for line in told]


def test_the_page_in_the_repository_is_what_its_summaries_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "FOLDER", tmp_path)
    assert report_page.main(["--check"]) == 0


# --- inserts ---------------------------------------------------------------------------------------------------------
# Tests the CPU time as a multiple of a bare INSERT: the stored figures, the page, and the text of the page without a
# measurement.

FIGURES = {
    "messages_per_second": 900.0, "sent_per_second": 900.0, "server_cpu_seconds_per_1000": 0.06,
    "generator_cpu_seconds_per_1000": 0.02, "p50_ms": 0.7, "p99_ms": 2.0,
}  # fmt: skip


def system(name: str = "penstock") -> Document:
    least, most = ({"server_cpu_seconds_per_1000": cpu} for cpu in (0.05, 0.08))
    return {
        "system": name, "connections": 16, "facts": {}, "marks": [], "median": FIGURES, "min": least, "max": most
    }  # fmt: skip


def bench() -> Bench:
    """Returns a bench that starts no service and does not examine the machine."""
    options = argparse.Namespace(
        scale=1.0, busy="mark", rate=0.0, no_results=False, no_penstock=False, connections=[16], endpoint="",
        messages=1, repeat=1, body_bytes=1, samples=1, processes=1, jobs_scale=1, jobs_repeat=1,
        discard_slowest=0, queen_consumers=1, queen_acks=1, queen_seconds=1.0,
    )  # fmt: skip
    fleet: Any = None
    return Bench(options, fleet, ExitStack())


def test_the_unit_is_the_median_of_what_was_measured() -> None:
    """One of five figures is too large, as during a vacuum."""
    (found,), unit = compared([system()], [0.049, 0.05, 0.051, 0.2, 0.05])
    assert unit == {"cpu_seconds_per_1000": 0.05, "measured": [0.049, 0.05, 0.051, 0.2, 0.05]}
    multiples = [found[kind]["server_cpu_inserts"] for kind in ("min", "median", "max")]  # type: ignore[index]
    assert multiples == [1.0, 1.2, 1.6]


def test_without_a_measurement_nothing_is_added() -> None:
    assert compared([system()], []) == ([system()], None)


def test_the_load_generators_cpu_has_no_multiple() -> None:
    row = with_multiples({"CPU s/1000": 0.06, "load CPU s/1000": 0.02, "p50 ms": 1}, 0.05)
    assert list(row.items()) == [
        ("CPU s/1000", 0.06), ("CPU in INSERTs", 1.2), ("load CPU s/1000", 0.02), ("p50 ms", 1)
    ]  # fmt: skip


def test_each_column_of_cpu_has_its_own() -> None:
    row = with_multiples({"quiet CPU s/1000": 0.06, "pressed CPU s/1000": 0.1, "CPU s/1000 sent": 0.05}, 0.05)
    assert {name: value for name, value in row.items() if "INSERTs" in name} == {
        "quiet CPU in INSERTs": 1.2, "pressed CPU in INSERTs": 2.0, "CPU in INSERTs sent": 1.0
    }  # fmt: skip


def test_text_that_looks_like_cpu_has_none() -> None:
    row: dict[str, object] = {"CPU s/1000 sends of pgmq before, after": "0.1700, 0.1900"}
    assert with_multiples(row, 0.05) == row


def test_the_line_names_the_unit_and_every_system() -> None:
    rows: Document = {"system": "pgmq", "rows": [{"CPU s/1000": 0.1}, {"CPU s/1000": 0.2}]}
    systems, unit = compared([system(), rows], [0.05])
    assert unit is not None
    expected = "a bare INSERT: 0.0500 s of CPU for 1,000; a message in INSERTs: penstock 1.20; pgmq 2.00, 4.00"
    assert line_of(systems, unit) == expected


def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, systems: list[Document], cpu: list[float]) -> Any:
    """Writes the summary of a run of the scenario `send_1` with the given CPU time."""
    monkeypatch.setattr(run, "check_host_load", lambda _: HostLoad(0.0, 0.0))
    monkeypatch.setattr(runs, "RAW", tmp_path / "raw")
    monkeypatch.setattr(runs, "write_summary", lambda path: summary.write_summary(path, tmp_path / "kept.json"))

    def measure(given: Bench) -> Findings:
        given.insert_cpu_seconds += cpu
        return Findings(systems, valid=True)

    given = bench()
    given.insert_cpu_seconds += [9.0]  # from an earlier study
    assert run.run_study(Study("send_1", "SendMessage", measure), given)
    return summary.read_summaries(tmp_path / "kept.json")["send_1"]


def test_a_run_stores_and_prints_the_unit_and_the_multiples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    document = written(tmp_path, monkeypatch, [system(), system("pgmq")], [0.05])
    assert document["bare_insert"]["cpu_seconds_per_1000"] == 0.05
    assert [each["median"]["server_cpu_inserts"] for each in document["systems"]] == [1.2, 1.2]
    assert "a message in INSERTs: penstock 1.20; pgmq 1.20" in capsys.readouterr().out
    assert "took PostgreSQL 0.050 s of CPU" in report_page.page(summary.read_summaries(tmp_path / "kept.json"))


def test_a_run_without_the_unit_shows_the_cpu_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = written(tmp_path, monkeypatch, [system()], [])
    assert "bare_insert" not in document
    text = report_page.page(summary.read_summaries(tmp_path / "kept.json"))
    assert "| penstock | 0.06 |" in text
    assert "took PostgreSQL an unknown number of s" in text


def test_an_older_row_shows_an_empty_cell_and_a_newer_one_its_own() -> None:
    rows: list[dict[str, object]] = [{"CPU s/1000": 0.06}, {"CPU s/1000": 0.06, "CPU in INSERTs": 1.2}]
    document = {"systems": [{"system": "penstock", "rows": rows}]}
    shown = report_page.rows_of(document, "rows")
    assert [row["CPU in INSERTs"] for row in shown] == ["", 1.2]


def test_without_pgbench_the_run_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(dsn: str, inserts: int) -> list[float]:
        raise UnavailableError("pgbench is not installed")

    monkeypatch.setattr(study, "measure_bare_insert", fails)
    given, penstock = bench(), Penstock(bench().fleet)
    given.measure_insert(penstock)
    given.measure_insert(penstock)
    assert given.insert_cpu_seconds == []
    assert capsys.readouterr().out == "CPU is not compared with a bare INSERT: pgbench is not installed\n"


def test_pgbench_is_looked_for_in_the_wheel_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = type("Missing", (), {"path": lambda self, name: tmp_path / name})()
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(pgbench, "find_binaries", lambda source: missing)
    monkeypatch.setattr(pgbench, "INSTALLED", tmp_path)
    with pytest.raises(UnavailableError, match="pgbench is not installed"):
        pgbench.find_pgbench(tmp_path / "beside")
    (tmp_path / "pgbench").touch()
    assert pgbench.find_pgbench(tmp_path / "beside") == str(tmp_path / "pgbench")


def test_a_database_that_is_not_known_is_not_measured() -> None:
    with pytest.raises(UnavailableError, match="--database"):
        pgbench.measure_bare_insert("")
