"""Tests the values below the pointer in the charts of a queue."""

import itertools
import re
from datetime import UTC, datetime, timedelta

from penstock.verdicts import Minute
from penstock_web.console.charts import Chart, build_charts
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
    assert shown == ["2030-01-31 11:58 UTC\nvisible 7, in flight 0", "2030-01-31 11:59 UTC\nvisible 7, in flight 0"]


def test_columns_cover_the_chart_without_a_gap() -> None:
    minutes = [Minute(END - timedelta(minutes=n), sent=n) for n in (1, 2, 30, 59)]
    picture = charts(timedelta(hours=1), minutes)["Messages a minute"].picture
    places = [(float(x), float(w)) for x, w in re.findall(r'<rect x="([\d.]+)" y="10" width="([\d.]+)"', picture)]
    for (left, width), (following, _) in itertools.pairwise(places):
        assert abs(left + width - following) < 0.2


def test_one_measurement_is_a_dot() -> None:
    picture = charts(timedelta(hours=1), [Minute(END - timedelta(minutes=1), visible=7)])[
        "Messages in the queue"
    ].picture
    assert "line first dot" in picture
