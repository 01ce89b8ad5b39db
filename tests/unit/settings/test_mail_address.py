"""Tests addresses of readers, senders and mail servers. Ports: RFC 6409 and RFC 8314 (587 with STARTTLS, 465 with
TLS).
"""

from __future__ import annotations

import pytest

from penstock.settings.mail_address import MailSender, MailServer, is_email_address, parse_sender, parse_server


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example.com", MailServer("mail.example.com", 587, False, None, "")),
        ("smtps://mail.example.com", MailServer("mail.example.com", 465, True, None, "")),
        ("smtp://u:p@[::1]:25", MailServer("::1", 25, False, "u", "p")),
        ("smtp://a%40b:c%2Fd%40@h:1025", MailServer("h", 1025, False, "a@b", "c/d@")),
    ],
)
def test_servers(url: str, server: MailServer) -> None:
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
def test_senders(text: str, sender: MailSender) -> None:
    assert parse_sender(text) == sender


@pytest.mark.parametrize(
    "text", ["a@example.com\n", "a@b", "@example.com", "a b@example.com", "a@example.com>", "ü@example.com"]
)
def test_no_addresses(text: str) -> None:
    assert not is_email_address(text)
