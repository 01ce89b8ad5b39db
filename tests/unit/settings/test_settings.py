"""Tests settings: types, limits, errors, and the page that documents them."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from penstock.settings import SETTINGS, SUBJECTS, Setting, SettingError, Settings, Value
from penstock.settings.mail_address import MailSender, MailServer, is_email_address, parse_sender, parse_server
from penstock.settings.markdown import render_page
from penstock.settings.unknown import describe_unknown_variables

PAGE = Path(__file__).parents[3] / "docs/reference/settings.md"

KEY = b64encode(bytes(range(32))).decode()
# These names and defaults must not change, because installations rely on them.
PROMISED = {
    "QUEUE_ADDRESS": "0.0.0.0:9324",
    "QUEUE_DEFAULT_VISIBILITY_TIMEOUT": 30,
    "QUEUE_MAX_CONNECTIONS": 10,
    "LOG_LEVEL": "info",
    "QUEUE_LINGER_MS": 0,
    "QUEUE_HTTP_DELIVERY_ENABLED": True,
    "QUEUE_HTTP_DELIVERY_POLL_MS": 1000,
    "QUEUE_HTTP_DELIVERY_TIMEOUT_SECS": 5,
    "QUEUE_HTTP_DELIVERY_BATCH_SIZE": 50,
}


def test_the_page_is_what_the_command_prints() -> None:
    assert PAGE.read_text() == render_page(SUBJECTS)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_every_setting_is_documented(setting: Setting[Value]) -> None:
    assert f"| `{setting.name}` |" in PAGE.read_text()
    assert setting.help.endswith(".")


@pytest.mark.parametrize(("name", "default"), PROMISED.items())
def test_specified_defaults(name: str, default: object) -> None:
    assert getattr(Settings.read({}), name.lower()) == default


def test_values_are_typed() -> None:
    read = Settings.read({"QUEUE_SHARDS": "8", "QUEUE_TRUST_FORWARDED": "TRUE", "LOG_LEVEL": "Debug"})
    assert (read.queue_shards, read.queue_trust_forwarded, read.log_level) == (8, True, "debug")


def test_an_empty_variable_counts_as_not_set() -> None:
    assert Settings.read({"QUEUE_SHARDS": "", "QUEUE_ADDRESS": " "}) == Settings.read({})


def test_overrides_win() -> None:
    assert Settings.read({"QUEUE_SHARDS": "8"}, queue_shards=2).queue_shards == 2


def test_settings_do_not_change() -> None:
    settings = Settings.read({"QUEUE_SHARDS": "8"})
    with pytest.raises(AttributeError, match="queue_shards"):
        settings.queue_shards = 2  # type: ignore[assignment]
    assert settings.replace(queue_shards=2) == Settings.read({"QUEUE_SHARDS": "2"}) != settings
    assert len({settings, Settings.read({"QUEUE_SHARDS": "8"})}) == 1


def test_values_of_no_setting_are_refused() -> None:
    with pytest.raises(TypeError, match="queue_shard"):
        Settings.read({}, queue_shard=2)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("QUEUE_SHARDS", "many", "a whole number"),
        ("QUEUE_SHARDS", "1.5", "a whole number"),
        ("QUEUE_SHARDS", "0", "at least 1"),
        ("QUEUE_LINGER_MS", "-1", "at least 0"),
        ("QUEUE_DEFAULT_VISIBILITY_TIMEOUT", "43201", "at most 43200"),
        ("QUEUE_TRUST_FORWARDED", "maybe", "true or false"),
        ("LOG_LEVEL", "loud", "one of debug"),
        ("QUEUE_ACCOUNT_ID", "12345", "12 digits"),
        ("QUEUE_REGIONS", "Frankfurt am Main", "names of regions"),
        ("SNS_GATEWAY_URL", "gateway:8080/in", "a URL"),
        ("SNS_GATEWAY_URL", "https://user:password@gateway/in", "a URL"),
        ("SNS_GATEWAY_URL", "https://", "a URL"),
        ("SNS_GATEWAY_URL", "http://gate way/", "a URL"),
        ("SNS_CERT_HOST", "https://sns.us-east-1.amazonaws.com", "the name of a host"),
        ("QUEUE_ALLOWED_HOSTS", "a.example,https://b.example", "names of hosts"),
        ("QUEUE_ALLOWED_HOSTS", "a.example:9324", "without https:// and port"),
        ("QUEUE_ALLOWED_HOSTS", "a.*.example", "names of hosts"),
        ("QUEUE_ADDRESS", "9324", "host:port"),
        ("QUEUE_BASE_URL", "queues.example.com", "an address http"),
        ("QUEUE_BASE_URL", "ftp://queues.example.com", "an address http"),
        ("QUEUE_BASE_URL", "https://queues.example.com:port", "an address http"),
        ("QUEUE_REGION", "Frankfurt am Main", "the name of a region"),
        ("QUEUE_ENCRYPTION_KEY", "abc", "32 bytes in base64"),
        ("QUEUE_ENCRYPTION_KEY", "AAAA", "32 bytes in base64"),
        ("QUEUE_METRICS_TIMEZONE", "Mars", "a time zone"),
        ("QUEUE_METRICS_TIMEZONE", "../etc", "a time zone"),
        ("QUEUE_METRICS_TOKEN", "two words", "without blanks"),
        ("QUEUE_HISTORY_DAYS", "99999999999", "at most 2147483647"),
        ("OTLP_ENDPOINT", "collector", "an address http"),
        ("OTLP_SAMPLE_RATE", "nan", "at least 0"),
    ],
)
def test_a_bad_value_is_refused_by_name(name: str, value: str, said: str) -> None:
    with pytest.raises(SettingError, match=f"{name} must be .*{said}"):
        Settings.read({name: value})


@pytest.mark.parametrize("setting", [s for s in SETTINGS if s.choices or type(s.default) is not str])
def test_every_setting_that_is_no_text_refuses_one(setting: Setting[Value]) -> None:
    with pytest.raises(SettingError, match=f"^{setting.name} must be "):
        Settings.read({setting.name: "no such value"})


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("QUEUE_MAX_CONECTIONS", "; do you mean QUEUE_MAX_CONNECTIONS?"),
        ("WEBHOOK_ALLOWED_CIDRS", "; do you mean WEBHOOK_ALLOW_CIDRS?"),
        ("SNS_SMTP_ULR", "; do you mean SNS_SMTP_URL?"),
        ("PENSTOCK_ACCESS", "; do you mean QUEUE_ACCESS?"),
        ("PENSTOCK_LOG_LEVEL", "; do you mean LOG_LEVEL?"),
        ("QUEUE_ENCRYPTION_KEYFILE", "; do you mean QUEUE_ENCRYPTION_KEY_FILE?"),
        ("QUEUE_SOMETHING_ELSE_ENTIRELY", ""),
    ],
)
def test_names_that_are_no_settings(name: str, hint: str) -> None:
    assert describe_unknown_variables([name]) == {name: f"{name} is not a setting and has no effect{hint}"}


def test_names_that_are_known_or_not_ours() -> None:
    of_kubernetes = ("QUEUE_SERVICE_HOST", "QUEUE_SERVICE_PORT_HTTP", "QUEUE_PORT_9324_TCP_ADDR", "QUEUE_PORT")
    known = (*(s.name for s in SETTINGS), "QUEUE_ENCRYPTION_KEY_FILE", "DATABASE_URL_FILE")
    assert describe_unknown_variables((*known, *of_kubernetes, "PATH", "AWS_REGION")) == {}


def test_the_own_region_must_be_served() -> None:
    with pytest.raises(SettingError, match="QUEUE_REGIONS must have QUEUE_REGION, which is 'us-east-1'"):
        Settings.read({"QUEUE_REGIONS": "eu-west-1"})
    assert Settings.read({"QUEUE_REGIONS": "eu-west-1,us-east-1"}).serves("us-east-1")


def test_printed_settings_have_no_secrets() -> None:
    secrets = ("DATABASE_URL", "DATABASE_DIRECT_URL", *(s.name for s in SETTINGS if s.secret))
    mail = {"SNS_SMTP_URL": "smtp://user:hidden@host", "SNS_MAIL_FROM": "a@example.com"}
    mail["QUEUE_ALERT_URL"] = "https://hooks.slack.com/hidden"
    key = {"QUEUE_ENCRYPTION_KEY": KEY}
    shown = repr(Settings.read(dict.fromkeys(secrets, "hidden") | mail | key))
    assert "hidden" not in shown
    assert KEY not in shown


@pytest.mark.parametrize(
    "url",
    ["hidden", "http://u:hidden@h", "smtp://u:hidden@", "smtp://u:hidden@h:0", "smtps://u:hidden@h:x", "smtp://h/p"],
)
def test_an_address_that_is_no_mail_server(url: str) -> None:
    """The error must not repeat the password."""
    with pytest.raises(SettingError, match="SNS_SMTP_URL must be smtp") as refused:
        Settings.read({"SNS_SMTP_URL": url, "SNS_MAIL_FROM": "a@example.com"})
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize("sender", ["nobody", "a@b", "a@example.com\r\nBcc: b@example.com", "A <a@example.com> b"])
def test_a_sender_that_is_no_address(sender: str) -> None:
    with pytest.raises(SettingError, match="SNS_MAIL_FROM must be an e-mail address"):
        Settings.read({"SNS_MAIL_FROM": sender})


def test_a_mail_server_needs_a_sender() -> None:
    with pytest.raises(SettingError, match="SNS_SMTP_URL needs SNS_MAIL_FROM"):
        Settings.read({"SNS_SMTP_URL": "smtp://mail.example.com"})


def test_direct_url_falls_back_to_the_database_url() -> None:
    assert Settings.read({"DATABASE_URL": "a"}).direct_url == "a"
    assert Settings.read({"DATABASE_URL": "a", "DATABASE_DIRECT_URL": "b"}).direct_url == "b"


@pytest.mark.parametrize(
    ("address", "parts"), [("0.0.0.0:9324", ("0.0.0.0", 9324)), ("[::1]:80", ("::1", 80)), ("queue:1", ("queue", 1))]
)
def test_address_in_two_parts(address: str, parts: tuple[str, int]) -> None:
    assert Settings.read({"QUEUE_ADDRESS": address}).host_and_port == parts


@pytest.mark.parametrize("address", ["9324", ":9324", "host", "host:port", "host:70000"])
def test_a_bad_address_is_refused(address: str) -> None:
    with pytest.raises(SettingError, match="QUEUE_ADDRESS must be host:port"):
        _ = Settings.read({"QUEUE_ADDRESS": address}).host_and_port


def test_secrets_and_addresses_may_be_in_files(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text("postgresql://u:p@h/d\n")
    read = {name: str(file) for name in ("DATABASE_URL_FILE", "QUEUE_METRICS_TOKEN_FILE")}
    settings = Settings.read({**read, "DATABASE_DIRECT_URL": "b"})
    assert settings.database_url == settings.queue_metrics_token == "postgresql://u:p@h/d"
    assert settings.database_direct_url == "b"
    assert Settings.read({**read, "DATABASE_URL": "a"}).database_url == "a"


@pytest.mark.parametrize("setting", [s for s in SETTINGS if not s.secret])
def test_no_other_setting_may_be_in_a_file(setting: Setting[Value]) -> None:
    """If such a variable had no effect, the process would start with the default instead of the value in the file."""
    with pytest.raises(SettingError) as refused:
        Settings.read({f"{setting.name}_FILE": "/run/secrets/value", setting.name: setting.write()})
    said = f"{setting.name}_FILE is not a setting: only secrets and database addresses are read from files. "
    assert str(refused.value) == f"{said}Set {setting.name}"
    assert Settings.read({f"{setting.name}_FILE": ""}) == Settings.read({})
    assert describe_unknown_variables([f"{setting.name}_FILE"]) == {}


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="DATABASE_URL_FILE"):
        Settings.read({"DATABASE_URL_FILE": str(tmp_path / "missing")})


# --- mail address ----------------------------------------------------------------------------------------------------
# Tests the addresses of recipients, senders and mail servers. Ports: RFC 6409 and RFC 8314 (587 with STARTTLS, 465 with
# TLS).


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example.com", MailServer("mail.example.com", 587, False, None, "")),
        ("smtps://mail.example.com", MailServer("mail.example.com", 465, True, None, "")),
        ("smtp://u:p@[::1]:25", MailServer("::1", 25, False, "u", "p")),
        ("smtp://a%40b:c%2Fd%40@h:1025", MailServer("h", 1025, False, "a@b", "c/d@")),
    ],
)
def test_a_url_of_a_mail_server_is_parsed(url: str, server: MailServer) -> None:
    assert parse_server(url) == server


@pytest.mark.parametrize(
    ("text", "sender"),
    [
        ("a@example.com", MailSender("", "a@example.com")),
        ("<a@example.com>", MailSender("", "a@example.com")),
        ('"The news" <a@example.com>', MailSender("The news", "a@example.com")),
        ("Grüße <a@example.com>", MailSender("Grüße", "a@example.com")),
    ],
)
def test_a_sender_of_mails_is_parsed(text: str, sender: MailSender) -> None:
    assert parse_sender(text) == sender


@pytest.mark.parametrize(
    "text", ["a@example.com\n", "a@b", "@example.com", "a b@example.com", "a@example.com>", "ü@example.com"]
)
def test_no_addresses(text: str) -> None:
    assert not is_email_address(text)
