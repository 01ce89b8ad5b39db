"""Summaries of runs: the parts of a raw file that are kept, and their small size."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.catalogue import STUDIES
from benchmarks.report import summary

SETTINGS = {"fsync": "on", "max_connections": "100"}
OTHER = {"fsync": "on", "max_connections": "450"}
KEPT = summary.read_summaries(summary.RESULTS)


def raw_run() -> dict[str, Any]:
    figures = {"p50_ms": 2.0}
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
    assert [ours[name]["p50_ms"] for name in ("min", "median", "max")] == [1.0, 2.0, 3.0]
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


def test_what_is_written_is_the_summary(tmp_path: Path) -> None:
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
