"""Tests parts of the report's charts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from penstock_web.report.formats import clock, compact, duration, share
from penstock_web.report.heat import SHADES, shade
from penstock_web.report.svg import Scale, count_ticks, element, paths, picture, time_ticks

START = datetime(2026, 3, 29, 10, 7, tzinfo=UTC)


@pytest.mark.parametrize("greatest", [0, 1, 2, 3, 7, 10, 41, 99, 100, 101, 999, 123_456_789, 10**15])
def test_ticks_of_counts_are_few_round_and_whole(greatest: int) -> None:
    ticks = count_ticks(greatest)
    step = ticks[1]
    assert ticks == [step * n for n in range(len(ticks))]
    assert 2 <= len(ticks) <= 5
    assert ticks[-2] <= greatest <= ticks[-1]
    assert step == int(step)
    assert str(int(step)).rstrip("0") in {"1", "2", "5"}


@pytest.mark.parametrize("minutes", [1, 10, 59, 61, 1440, 10_000, 100_000, 2_000_000])
def test_ticks_of_time_are_few_and_within(minutes: int) -> None:
    end = START + timedelta(minutes=minutes)
    ticks = time_ticks(START, end)
    assert len(ticks) <= 8
    assert all(START <= at <= end for at, _ in ticks)
    assert len(ticks) >= 2 or minutes < 10


def test_midnight_is_a_date() -> None:
    texts = [text for _, text in time_ticks(START, START + timedelta(days=1))]
    assert "30 Mar" in texts
    assert "12:00" in texts


def test_lines_stop_where_nothing_is_known() -> None:
    at = [START + timedelta(minutes=n) for n in (0, 1, 5, 6)]
    points = [(moment, (float(n), 0.0)) for n, moment in enumerate(at)]
    stretches = list(paths(points, timedelta(seconds=90)))
    assert [[x for x, _ in stretch] for stretch in stretches] == [[0, 1], [2, 3]]
    assert list(paths([], timedelta(1))) == []


def test_a_scale_keeps_within_its_ends() -> None:
    scale = Scale(0, 10, 100, 200)
    assert [scale(value) for value in (-5, 0, 5, 10, 99)] == [100, 100, 150, 200, 200]
    assert Scale(3, 3, 0, 1)(3) == 0


def test_shown_texts_are_escaped() -> None:
    assert element("g", name='"<&>') == '<g name="&quot;&lt;&amp;&gt;"/>'
    assert "<b>" not in picture("<b>", 1, 1)


def test_shades_grow_with_the_duration() -> None:
    assert [shade(most) for most in SHADES] == list(range(len(SHADES)))
    assert (shade(0), shade(SHADES[-1] + 1)) == (0, len(SHADES))


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [(None, "-"), (0, "0 µs"), (7, "7 µs"), (1_500, "1.5 ms"), (59_900_000, "60 s"), (90_000_000, "1.5 min"),
     (3_600_000_000, "1 h"), (864_000_000_000, "10 d")],
)  # fmt: skip
def test_a_duration_is_shown_with_its_unit(microseconds: int | None, text: str) -> None:
    assert duration(microseconds) == text


def test_a_share_is_shown_in_per_cent() -> None:
    assert [share(value) for value in (0, 0.0125, 0.5, 1)] == ["0 %", "1.2 %", "50 %", "100 %"]


def test_numbers_of_an_axis_are_short() -> None:
    values = (0, 5, 999, 1_000, 2_500, 30_000, 1_500_000, 2e9, 10**15)
    assert [compact(value) for value in values] == ["0", "5", "999", "1k", "2.5k", "30k", "1.5M", "2G", "1e+03T"]


def test_another_day_is_named() -> None:
    assert clock(START, START + timedelta(hours=1)) == "10:07"
    assert clock(START, START + timedelta(days=1)) == "29 Mar 10:07"
