"""Tests the values of attributes in units, and the short forms of User-Agents.

The User-Agents are those that the SDKs send.
"""

import pytest

from penstock_web.console.units import exact_duration, exact_size, in_words, list_facts, readable, short_agent


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 seconds"), (1, "1 second"), (30, "30 seconds"), (90, "1 minute 30 seconds"), (345_600, "4 days"),
     (1_209_599, "13 days 23 hours 59 minutes 59 seconds")],
)  # fmt: skip
def test_a_duration_is_exact(seconds: int, text: str) -> None:
    assert exact_duration(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (1, "1 byte"), (1_048_576, "1 MiB"), (262_144, "256 KiB"), (1_048_575, "1,048,575 bytes"),
     (5 * 1024**3, "5 GiB")],
)  # fmt: skip
def test_a_size_is_exact(size: int, text: str) -> None:
    assert exact_size(size) == text


def test_a_value_keeps_what_the_api_has() -> None:
    assert readable("345600", "MessageRetentionPeriod") == '<span title="345600 seconds">4 days</span>'
    assert readable("1048576", "MaximumMessageSize") == '<span title="1048576 bytes">1 MiB</span>'
    assert readable("30", "VisibilityTimeout") == "30 seconds"
    assert readable("1893456000000", "SentTimestamp") == (
        '<span title="1893456000000 milliseconds">2030-01-01 00:00:00 UTC</span>'
    )


@pytest.mark.parametrize("value", ["", "-1", "1.5", "٣", "<b>", "9" * 18, "9" * 30])
def test_a_value_that_is_no_number_of_the_unit_stays(value: str) -> None:
    """Old or foreign data can be in an attribute, and no such value ends the page."""
    assert in_words(value, "SentTimestamp") == value
    assert in_words(value, "no such attribute") == value


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ('{"MessageRetentionPeriod": ["345600", "60"]}', [("MessageRetentionPeriod", "4 days → 1 minute", "")]),
        ('{"paused": [null, "true"]}', [("paused", "not set → true", "")]),
        ('{"canary": 1, "filter": {"text": "<b>"}}', [("canary", "1", ""), ("filter", '{"text":"<b>"}', "")]),
        ('{"attributes": ["a", 1]}', [("attributes", '["a",1]', "")]),
        ('{"ids": [1, 2, 3, 4]}', [("ids", "[1,2,3,4]", "")]),
        ('{"ids": [1, 2, 3, 4, 5, "<b>"]}', [("ids", "6: 1, 2, 3", "4, 5, <b>")]),
        ("{}", []),
        ("no JSON", [("", "no JSON", "")]),
        ("[" * 5_000, [("", "[" * 5_000, "")]),
    ],
)
def test_the_facts_of_the_audit(document: str, found: list[tuple[str, str, str]]) -> None:
    assert list_facts(document) == found


BOTO3 = (
    "Boto3/1.35.90 md/Botocore#1.35.90 ua/2.0 os/linux#6.1.0 md/arch#x86_64 lang/python#3.11.2 md/pyimpl#CPython"
    " m/Z,b,D cfg/retry-mode#legacy Botocore/1.35.90"
)


@pytest.mark.parametrize(
    ("agent", "short"),
    [
        (BOTO3, "Boto3/1.35.90"),
        (f"{BOTO3} app/orders-worker", "orders-worker · Boto3/1.35.90"),
        (f"{BOTO3} worker/1.4", "worker/1.4 · Boto3/1.35.90"),
        ("Botocore/1.35.90 ua/2.0 os/linux#6.1.0", "Botocore/1.35.90"),
        ("aws-sdk-js/3.600.0 ua/2.0 os/linux#6.1 lang/js md/nodejs#20.11.0 api/sqs#3.600.0 app/mails",
         "mails · aws-sdk-js/3.600.0"),
        ("aws-sdk-go-v2/1.30.3 ua/2.0 os/linux lang/go#1.22.5 md/GOOS#linux md/GOARCH#amd64 api/sqs#1.34.3 m/E",
         "aws-sdk-go-v2/1.30.3"),
        ("aws-sdk-java/2.25.0 md/io#sync md/http#Apache ua/2.0 os/Linux#5.10 lang/java#17.0.1 md/en_US",
         "aws-sdk-java/2.25.0"),
        ("aws-cli/2.15.0 md/awscrt#0.19 ua/2.0 os/linux#6.1 exec-env/CI cfg/retry-mode#standard md/prompt#off",
         "aws-cli/2.15.0"),
        ("python-httpx/0.27.0", "python-httpx/0.27.0"),
        ("Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101", "Gecko/20100101 · Mozilla/5.0"),
        ("os/linux", "os/linux"),
        ("<script>", "<script>"),
        ("", ""),
    ],
)  # fmt: skip
def test_an_agent_is_short(agent: str, short: str) -> None:
    assert short_agent(agent) == short
