"""An unknown value is a dash that screen readers read as words, and never 0; every value is escaped."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from penstock.verdicts import Minute
from penstock_web.console.differences import mark_lines
from penstock_web.console.rendering import (
    NOT_KNOWN,
    age,
    ago,
    count,
    moment,
    query,
    rate,
    seconds,
    segment,
    templates,
)
from penstock_web.console.sparks import depths

NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)


def test_what_is_not_known_is_no_zero() -> None:
    assert {count(None), rate(None), seconds(None), age(None, NOW), ago(None, NOW), moment(None)} == {
        NOT_KNOWN
    }
    assert "not known" in NOT_KNOWN
    assert (count(0), rate(0.0), seconds(0.0), age(NOW, NOW)) == ("0", "0", "0 s", "0 s")


@pytest.mark.parametrize(
    ("value", "text"), [(12.4, "12/s"), (1.04, "1.0/s"), (0.5, "30/min"), (0.1, "6.0/min"), (0.0001, "0")]
)
def test_rates(value: float, text: str) -> None:
    assert rate(value) == text


def test_ago_has_the_moment_for_programs() -> None:
    assert ago(NOW - timedelta(minutes=12), NOW) == (
        '<time datetime="2030-01-31T11:48:00.000+00:00" title="2030-01-31 11:48:00 UTC">12 min ago</time>'
    )


def test_addresses() -> None:
    assert query({"q": "a b", "sort": "", "page": None}, page=2) == "?q=a+b&page=2"
    assert query({}) == ""
    assert segment("a/b?c") == "a%2Fb%3Fc"


def test_values_are_escaped() -> None:
    text = templates().from_string('{{ value }} <a title="{{ value }}">').render(value="<b>\"'&")
    assert text == '&lt;b&gt;&#34;&#39;&amp; <a title="&lt;b&gt;&#34;&#39;&amp;">'


def test_depths_keep_what_was_measured_and_know_nothing_before() -> None:
    minutes = [Minute(NOW - timedelta(minutes=3), visible=5), Minute(NOW - timedelta(minutes=1), sent=2)]
    assert depths(minutes, NOW, 5) == [None, None, 5, 5, 5]
    old = [Minute(NOW - timedelta(hours=1), visible=7)]
    assert depths(old, NOW, 2) == [7, 7]


def test_lines_that_differ() -> None:
    one, two, three = '{\n  "a": 1,\n  "b": 2\n}', '{\n  "a": 1,\n  "b": 3\n}', '{\n  "a": 1\n}'
    assert [[line.differs for line in lines] for lines in mark_lines([one, two, three])] == [
        [False, False, True, False],
        [False, False, True, False],
        [False, False, False],
    ]
    assert not any(line.differs for lines in mark_lines([one]) for line in lines)
