"""The texts for people. The first nine are given by the REST API ("Schedules")."""

import locale

import pytest

from penstock.scheduler.expressions.expression import parse, parse_aws, read_stored


@pytest.mark.parametrize(
    ("form", "written", "zone", "text"),
    [
        ("cron", "* * * * *", "UTC", "Every minute"),
        ("every", "5m", "UTC", "Every 5 minutes"),
        ("when", "every day", "UTC", "Every day at 00:00"),
        ("when", "every weekday at 9am", "America/New_York", "At 09:00, Monday through Friday, America/New_York"),
        ("fire_at", "2026-01-02T03:04:05Z", "UTC", "Once at 2026-01-02 03:04:05 UTC"),
        ("fire_at", "2026-01-02T09:00:00", "Europe/Berlin", "Once at 2026-01-02 09:00:00, Europe/Berlin"),
        ("every", "30s", "UTC", "Every 30 seconds"),
        ("when", "hourly", "Etc/UTC", "Every hour"),
        ("cron", "15 9 * * *", "Asia/Tokyo", "Every day at 09:15, Asia/Tokyo"),
        ("cron", "30 0 9 * * *", "UTC", "Every day at 09:00:30"),
        ("cron", "0 0 13 * 5", "UTC", "At 00:00, on day 13 of the month, or on Friday"),
    ],
)  # fmt: skip
def test_rest(form: str, written: str, zone: str, text: str) -> None:
    assert parse(**{form: written}, timezone=zone).description() == text


@pytest.mark.parametrize(
    ("expression", "zone", "text"),
    [
        ("rate(1 minute)", "UTC", "Every minute"),
        ("rate(12 hours)", "Europe/Berlin", "Every 12 hours"),
        ("cron(0 12 * * ? *)", "UTC", "Every day at 12:00"),
        ("cron(0 18 ? * 2-6 *)", "UTC", "At 18:00, Monday through Friday"),
        (
            "cron(15 10 ? * 6L 2022-2023)",
            "UTC",
            "At 10:15, on the last Friday of the month, 2022 through 2023",
        ),
        ("cron(0 9 ? * 3#2 *)", "UTC", "At 09:00, on the second Tuesday of the month"),
        ("cron(0 9 ? * L *)", "UTC", "At 09:00, only on Saturday"),
        ("cron(0 9 LW * ? *)", "Asia/Tokyo", "At 09:00, on the last weekday of the month, Asia/Tokyo"),
        ("at(2022-11-20T13:00:00)", "America/New_York", "Once at 2022-11-20 13:00:00, America/New_York"),
    ],
)
def test_aws(expression: str, zone: str, text: str) -> None:
    assert parse_aws(expression, zone).description() == text


def test_the_language_is_not_that_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locale, "getlocale", lambda *_: ("de_DE", "UTF-8"))
    assert read_stored("cron", "0 7 * * 2", "0 7 * * 2", "UTC").description() == "At 07:00, only on Tuesday"
