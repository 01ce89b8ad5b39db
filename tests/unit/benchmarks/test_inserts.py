"""Tests CPU as a multiple of a bare INSERT: the stored figures, the page, and its text without a measurement."""

from __future__ import annotations

import argparse
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from benchmarks import bare_insert, pgbench, run
from benchmarks.measure.host import HostLoad
from benchmarks.penstock import Penstock
from benchmarks.report import page as report_page
from benchmarks.report import runs, summary
from benchmarks.report.inserts import compared, line_of, with_multiples
from benchmarks.studies import study
from benchmarks.studies.study import Bench, Document, Findings, Study
from benchmarks.system import UnavailableError

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
    """Returns a bench that starts no service and does not query the machine."""
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
    """Writes the summary of a run of the scenario `send_1` with this CPU time."""
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
        bare_insert.measure_bare_insert("")
