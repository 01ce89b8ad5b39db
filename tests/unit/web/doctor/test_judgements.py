"""Tests what `penstock doctor` finds in figures and settings, without a database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock_web.doctor.checks import CheckOutcome
from penstock_web.doctor.database import judge_clock
from penstock_web.doctor.examination import Finding
from penstock_web.doctor.own_settings import check_settings, find_usable_settings
from penstock_web.doctor.report import as_json
from penstock_web.doctor.server_settings import RULES, judge_connections, judge_settings

GOOD = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "autovacuum": "on",
    "track_counts": "on",
    "default_transaction_isolation": "read committed",
    "statement_timeout": "0",
    "transaction_timeout": "0",
    "idle_session_timeout": "0",
    "idle_in_transaction_session_timeout": "600000",
    "autovacuum_naptime": "10000",
    "max_wal_size": "2048",
}
BAD = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "track_counts": "off",
    "default_transaction_isolation": "repeatable read",
    "statement_timeout": "1000",
    "transaction_timeout": "4999",
    "idle_session_timeout": "60000",
    "idle_in_transaction_session_timeout": "0",
    "autovacuum_naptime": "3600000",
    "max_wal_size": "1024",
}


UNITS = {"max_wal_size": "MB"}


@pytest.mark.parametrize("name", [rule.name for rule in RULES])
def test_a_value_of_postgresql_that_the_service_cannot_rely_on(name: str) -> None:
    (found,) = judge_settings({**GOOD, name: BAD[name]}, "app")
    assert found.problem.startswith(f"{name} is {BAD[name]}{UNITS.get(name, '')}; it should be ")
    assert f"alter system set {name} = " in found.remedy
    assert found.why


def test_good_values_and_those_that_this_version_has_not() -> None:
    assert list(judge_settings(GOOD, "app")) == []
    assert list(judge_settings({}, "app")) == []
    # The documented deadline for workers' calls is 24 s, and no call needs more.
    assert list(judge_settings({**GOOD, "statement_timeout": "30000"}, "app")) == []


@pytest.mark.parametrize(
    ("available", "used", "of_process", "words"),
    [
        (97, 20, 10, []),
        (97, 90, 10, ["90 of 97 connections are in use"]),
        (12, 3, 10, ["PostgreSQL has 12 connections for all"]),
        (15, 3, 10, []),
    ],
)
def test_too_few_connections_are_a_problem(available: int, used: int, of_process: int, words: list[str]) -> None:
    found = list(judge_connections(available, used, of_process))
    assert [finding.problem.startswith(text) for finding, text in zip(found, words, strict=True)] == [True] * len(words)


@pytest.mark.parametrize(
    ("ahead", "uncertain", "words"),
    [
        (0.1, 0.01, ""),
        (3.0, 1.5, ""),  # The network is slow, so the clock skew is unknown.
        (3.0, 0.1, "3.0 s ahead of"),
        (-900.0, 0.1, "900.0 s behind"),
    ],
)
def test_a_clock_that_differs_is_a_problem(ahead: float, uncertain: float, words: str) -> None:
    found = [finding.problem for finding in judge_clock(ahead, uncertain)]
    assert (words in found[0]) if words else found == []


@pytest.mark.parametrize(
    ("variables", "problems"),
    [
        ({"QUEUE_MAX_CONNECTIONS": "5", "PATH": "/bin"}, []),
        (
            {"QUEUE_MAX_CONECTIONS": "5"},
            ["QUEUE_MAX_CONECTIONS is not a setting and has no effect; do you mean QUEUE_MAX_CONNECTIONS?"],
        ),
        (
            {"SNS_SMPT_URL": "smtp://host"},
            ["SNS_SMPT_URL is not a setting and has no effect; do you mean SNS_SMTP_URL?"],
        ),
        (
            {"WEBHOOK_ALLOW_CIDR": "10.0.0.0/8"},
            ["WEBHOOK_ALLOW_CIDR is not a setting and has no effect; do you mean WEBHOOK_ALLOW_CIDRS?"],
        ),
        (
            {"METRICS_TIMEZONE": "Europe/Berlin"},
            ["METRICS_TIMEZONE is not a setting and has no effect; do you mean QUEUE_METRICS_TIMEZONE?"],
        ),
        (
            {"QUEUE_SHARDS": "many", "QUEUE_LINGER_MS": "-1", "QUEUE_METRICS_TIMEZONE": "Mars"},
            [
                "QUEUE_LINGER_MS must be at least 0, not -1",
                "QUEUE_METRICS_TIMEZONE must be a time zone such as Europe/Berlin, not 'Mars'",
                "QUEUE_SHARDS must be a whole number, not 'many'",
            ],
        ),
        (
            {"QUEUE_REGION": "eu-west-1", "QUEUE_REGIONS": "us-east-1"},
            ["QUEUE_REGIONS must have QUEUE_REGION, which is 'eu-west-1', not 'us-east-1'"],
        ),
        (
            {"SNS_MAIL_FROM_FILE": "/run/secrets/sender"},
            [
                (
                    "SNS_MAIL_FROM_FILE is not a setting: only secrets and database addresses are read from files. "
                    "Set SNS_MAIL_FROM"
                ),
            ],
        ),
        (
            {"DATABASE_URL_FILE": "/nowhere"},
            ["DATABASE_URL_FILE: /nowhere cannot be read: [Errno 2] No such file or directory: '/nowhere'"],
        ),
    ],
)
def test_own_settings(variables: dict[str, str], problems: list[str]) -> None:
    found = list(check_settings(variables))
    assert sorted(finding.problem for finding in found) == problems
    assert all(finding.why and finding.remedy for finding in found)


def test_valid_settings_are_kept_beside_invalid_ones(tmp_path: Path) -> None:
    file = tmp_path / "address"
    file.write_text("postgresql://127.0.0.1/x")
    settings = find_usable_settings({"QUEUE_SHARDS": "many", "QUEUE_LINGER_MS": "7", "DATABASE_URL_FILE": str(file)})
    assert (settings.queue_linger_ms, settings.database_url) == (7, "postgresql://127.0.0.1/x")


def test_json_holds_no_character_that_a_terminal_obeys() -> None:
    """A terminal executes C0 and C1 controls, such as ESC ("Control functions for coded character sets", ECMA-48)."""
    text = "".join(map(chr, range(0xA0))) + "\u2028ä\U0001f600"
    outcome = CheckOutcome([Finding(text, text, text, text, page=text)], [text], {text: text})
    shown = as_json(outcome)
    assert json.loads(shown)["findings"] == [outcome.findings[0]._asdict()]
    assert json.loads(shown)["not_checked"] == {text: text}
    assert all(sign == "\n" or sign.isprintable() for sign in shown)
