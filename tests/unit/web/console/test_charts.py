"""Tests the values below the pointer in the charts of a queue."""

import itertools
import re
from datetime import UTC, datetime, timedelta

import pytest

from penstock.postgres.statements.metrics import AccountMinuteRow
from penstock.verdicts import Minute
from penstock_web.console.charts import Chart, build_charts, draw_counts
from penstock_web.console.rendering import templates
from penstock_web.console.screens.overview import draw_traffic
from penstock_web.report.charts import ChartPeriod
from tests.support.web.console import of_class, pictures

END = datetime(2030, 1, 31, 12, tzinfo=UTC)


def charts(length: timedelta, minutes: list[Minute]) -> dict[str, Chart]:
    return {chart.caption: chart for chart in build_charts(minutes, END - length, END)}


def values(chart: Chart) -> list[str]:
    """Returns the titles of the columns, from the first to the last. Fails if the picture is not XML."""
    (picture,) = pictures(chart.picture).values()
    return ["".join(hit.itertext()) for hit in of_class(picture, "hit")]


def test_each_minute_of_an_hour_has_its_values() -> None:
    minutes = [Minute(END - timedelta(minutes=n), sent=n, deleted=1, visible=n, in_flight=2) for n in range(1, 61)]
    found = charts(timedelta(hours=1), minutes)
    flow = values(found["Messages a minute"])
    assert len(flow) == 60
    assert flow[0] == "2030-01-31 11:00 UTC\nin 60, out 1"
    assert flow[-1] == "2030-01-31 11:59 UTC\nin 1, out 1"
    assert values(found["Messages in the queue"])[-1] == "2030-01-31 11:59 UTC\nvisible 1, in flight 2"


def test_a_long_time_has_some_of_its_values() -> None:
    """A chart stays small. The newest value is always one of those that it shows."""
    minutes = [Minute(END - timedelta(minutes=n), sent=n) for n in range(1, 1441)]
    flow = values(charts(timedelta(days=1), minutes)["Messages a minute"])
    assert 60 < len(flow) <= 72
    assert flow[-1] == "2030-01-31 11:59 UTC\nin 1, out 0"


def test_an_unknown_value_is_not_shown_as_zero() -> None:
    """The depth is unknown before the first measurement."""
    minutes = [Minute(END - timedelta(minutes=10), sent=1), Minute(END - timedelta(minutes=2), visible=7, in_flight=0)]
    shown = values(charts(timedelta(hours=1), minutes)["Messages in the queue"])
    assert shown == [
        "2030-01-31 11:00 UTC to 2030-01-31 11:58 UTC\nno data",
        "2030-01-31 11:58 UTC\nvisible 7, in flight 0",
        "2030-01-31 11:59 UTC\nvisible 7, in flight 0",
    ]


def test_a_gap_between_measurements_has_no_data() -> None:
    start = END - timedelta(hours=10)
    hours = [(start + timedelta(hours=n), float(n)) for n in (0, 1, 2, 7, 8)]
    chart = draw_counts("Messages", {"first": hours}, ChartPeriod(start, END, timedelta(minutes=90)))
    assert [text.partition("\n")[2] for text in values(chart)] == [
        "0", "1", "2", "no data", "7", "8", "no data"
    ]  # fmt: skip
    assert values(chart)[3] == "2030-01-31 04:00 UTC to 2030-01-31 09:00 UTC\nno data"
    places = re.findall(r'<rect x="([\d.]+)" y="10" width="([\d.]+)"', chart.picture)
    assert all(float(width) > 0 for _, width in places)
    middle = 62 + (560 - 62 - 12) * 0.45  # the place of 6:30, in the gap
    (hit,) = [n for n, (left, width) in enumerate(places) if float(left) <= middle < float(left) + float(width)]
    assert hit == 3


def test_columns_cover_the_chart_without_a_gap() -> None:
    minutes = [Minute(END - timedelta(minutes=n), sent=n) for n in (1, 2, 30, 59)]
    picture = charts(timedelta(hours=1), minutes)["Messages a minute"].picture
    places = [(float(x), float(w)) for x, w in re.findall(r'<rect x="([\d.]+)" y="10" width="([\d.]+)"', picture)]
    for (left, width), (following, _) in itertools.pairwise(places):
        assert abs(left + width - following) < 0.2


def test_the_table_has_the_values_of_the_columns_the_newest_first() -> None:
    minutes = [Minute(END - timedelta(minutes=n), sent=n, deleted=1) for n in (1, 2, 3)]
    chart = charts(timedelta(hours=1), minutes)["Messages a minute"]
    assert [name for _, name in chart.lines] == ["in", "out"]
    assert chart.rows == [(END - timedelta(minutes=n), [str(n), "1"]) for n in (1, 2, 3)]
    assert len(chart.rows) == len([text for text in values(chart) if not text.endswith("no data")])


def test_the_table_keeps_an_unknown_value_unknown() -> None:
    start = END - timedelta(hours=1)
    lines = {"first": [(start, 1.0), (END, 2.0)], "second": [(END, 3.0)]}
    chart = draw_counts("Messages", lines, ChartPeriod(start, END, timedelta(hours=2)), ("in", "out"))
    assert chart.rows == [(END, ["2", "3"]), (start, ["1", None])]


def test_one_measurement_is_a_sentence_and_no_picture() -> None:
    """Two lines of one measurement would be two dots."""
    chart = charts(timedelta(hours=1), [Minute(END - timedelta(minutes=1), visible=7, in_flight=0)])[
        "Messages in the queue"
    ]
    assert chart.picture == ""
    assert chart.rows == [(END - timedelta(minutes=1), ["7", "0"])]
    figure = templates().get_template("macros.html").module.chart_figure(chart)  # type: ignore[attr-defined]
    assert "2030-01-31 11:59 UTC: visible 7, in flight 0." in " ".join(figure.split())
    assert "<svg" not in figure


@pytest.mark.parametrize(("age", "points"), [(10, 10), (59, 59), (60, 60), (6_000, 60), (None, 3)])
def test_the_overview_draws_nothing_before_the_first_queue(age: int | None, points: int) -> None:
    """The time before the account's first queue is a gap, as in the charts of a queue, and not a row of zeros."""
    known_from = None if age is None else END - timedelta(minutes=age)
    rows = [AccountMinuteRow(END - timedelta(minutes=3), 7, 5, END, known_from)]
    traffic = draw_traffic(rows, END)
    assert traffic.chart is not None
    assert (traffic.entered, traffic.finished, len(traffic.chart.rows)) == (7, 5, points)
    assert [[*values] for at, values in traffic.chart.rows if at == END - timedelta(minutes=3)] == [["7", "5"]]
