"""Writes the messages of alerts.

One evaluation makes one message for each address, except for PagerDuty, which wants an event for each problem.

Sources: "Sending messages using incoming webhooks" and "Formatting text for app surfaces" (api.slack.com); "Create
incoming webhooks with Workflows" (learn.microsoft.com), whose messages have Adaptive Cards of adaptivecards.io; "Send
an Alert Event" (developer.pagerduty.com, Events API v2).
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID, uuid4

import msgspec

from penstock.delivery.delivery import ALERT, MAIL
from penstock.delivery.http.alert import ROUTING_KEY
from penstock.documents.console_pages import CONSOLE
from penstock.settings import Settings
from penstock.settings.alert_url import AlertUrl
from penstock.verdicts import Kind
from penstock.verdicts.words import count_in_words, name_kind

from .state import Change

SHOWN: Final = 20
"""The maximum number of problems that a text shows. A message to Teams can have 28 KB."""
MAX_TEXT: Final = 300
"""The maximum number of characters of a problem's reason."""
MAX_SUMMARY: Final = 1_024
"""The maximum length of PagerDuty's `summary`."""
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
SEVERITIES: Final = {"bad": "critical", "warn": "warning", "info": "info"}
"""PagerDuty's severity of each level."""
_VERDICTS: Final = frozenset(kind.value for kind in Kind) - {Kind.DEAD_LETTERS.value}
"""The kinds whose reason does not say how many messages wait."""


class Message(NamedTuple):
    """An argument of queue.send_alerts."""

    account_id: str
    target: str | None
    endpoint: str
    kind: str
    message_id: UUID
    body: str


class Recipient(NamedTuple):
    """An address, and the account that can list the deliveries to it. `target` is the row of queue.alert_target: empty
    for QUEUE_ALERT_URL. `address` is None for `mail`.
    """

    account_id: str
    target: str = ""
    address: AlertUrl | None = None
    mail: str = ""


def write_messages(recipient: Recipient, changes: Sequence[Change], settings: Settings) -> Iterator[Message]:
    """Yields the messages that tell these changes."""
    address, writer = recipient.address, Writer(settings, recipient.account_id)
    if address is None:
        document = {
            "kind": "Notification", "protocol": "email", "destination": recipient.mail, "text": writer.text(changes),
            "subject": writer.title(changes), "display_name": "Penstock",
        }  # fmt: skip
        yield Message(recipient.account_id, None, "smtp://mail/alert", MAIL, uuid4(), encode(document))
        return
    endpoint = f"alert://{address.server}"
    for body in writer.bodies(address.format, changes):
        yield Message(recipient.account_id, recipient.target, endpoint, ALERT, uuid4(), encode(body))


def find_console(settings: Settings) -> str:
    """Returns the address before the paths of links, or an empty string if alerts have no links.

    Without QUEUE_BASE_URL, this is the address of a service that listens on a loopback address, as `penstock up` does.
    A service behind a proxy has a value in QUEUE_ALLOWED_HOSTS or QUEUE_TRUST_FORWARDED, and needs QUEUE_BASE_URL.
    """
    if settings.console == "off":
        return ""
    is_proxied = bool(settings.queue_allowed_hosts) or settings.queue_trust_forwarded
    is_local = settings.host_and_port[0] in LOOPBACK and not is_proxied
    return settings.queue_base_url.rstrip("/") or (f"http://{settings.local_authority}" if is_local else "")


class Writer:
    """Writes changes for the readers of one account. Links need an address (find_console)."""

    def __init__(self, settings: Settings, account_id: str) -> None:
        self._base = find_console(settings)
        self._account_id = account_id
        self._region = settings.queue_region

    def bodies(self, kind: str, changes: Sequence[Change]) -> Iterator[object]:
        """Yields the body of each message in a format, as a JSON document."""
        if kind == "pagerduty":
            yield from (self._pagerduty(change) for change in changes)
        elif kind == "slack":
            yield {"text": "\n".join([f"*{_escape(self.title(changes))}*", *self._lines(changes, _slack_line)])}
        elif kind == "teams":
            yield self._teams(changes)
        else:
            yield {
                "type": "penstock.alerts",
                "text": self.text(changes),
                "changes": [{**msgspec.to_builtins(change), "url": self.link(change)} for change in changes],
            }

    def title(self, changes: Sequence[Change]) -> str:
        """Returns the subject of a message, such as `Penstock: 2 problems, 1 ended`."""
        ended = sum(change.what == "ended" for change in changes)
        outages = sum(change.what == "outage" for change in changes)
        tests = sum(change.what == "test" for change in changes)
        problems = len(changes) - ended - outages - tests
        counts = ((problems, "problem", "problems"), (ended, "ended", "ended"), (outages, "outage is over", "outages"),
                  (tests, "test", "tests"))  # fmt: skip
        return "Penstock: " + ", ".join(
            f"{count} {one if count == 1 else many}" for count, one, many in counts if count
        )

    def text(self, changes: Sequence[Change]) -> str:
        """Returns a message as plain text."""
        return "\n".join([self.title(changes), *self._lines(changes, _plain_line)])

    def link(self, change: Change) -> str | None:
        """Returns the address of the console's page where a user can mend the problem."""
        return f"{self._base}{change.page or CONSOLE}" if self._base else None

    def _lines(self, changes: Sequence[Change], line: Callable[[str, str | None], str]) -> list[str]:
        lines = [line(self._sentence(change), self.link(change)) for change in changes[:SHOWN]]
        if len(changes) > SHOWN:
            more = f"{len(changes) - SHOWN} more: penstock status"
            lines.append(line(more, f"{self._base}{CONSOLE}" if self._base else None))
        return lines

    def _sentence(self, change: Change) -> str:
        if change.what == "test":
            return "This is a test. Alerts of Penstock reach this address."
        if change.what == "outage":
            return f"{change.text} from {_clock(change.since)} to {_clock(change.until)}."
        subject = f"{self._place(change)}{change.title or change.name}: {change.state or name_kind(change.kind)}"
        if change.what == "ended":
            return f"Ended: {subject}, after {_span(change.since, change.until)}."
        verb = {"worse": "Worse: ", "grew": "More: "}.get(change.what, "")
        new = f", {change.new:,} new" if change.new else ""
        if change.kind in _VERDICTS and change.number:
            new = f", {count_in_words(change.kind, change.number)}"
        return f"{verb}{subject}{new}. {_end(change.text)} Since {_clock(change.since)}."

    def _place(self, change: Change) -> str:
        """Returns the account and the region, unless they are the reader's own."""
        parts = (
            change.account_id if change.account_id not in ("", self._account_id) else "",
            change.region if change.region not in ("", self._region) else "",
        )
        return "".join(f"{part} " for part in parts if part)

    def _teams(self, changes: Sequence[Change]) -> object:
        lines = [self.title(changes), *self._lines(changes, _teams_line)]
        blocks = [
            {"type": "TextBlock", "text": line, "wrap": True, "weight": "Default" if place else "Bolder"}
            for place, line in enumerate(lines)
        ]
        card = {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": "1.4",
            "body": blocks,
        }
        kind = "application/vnd.microsoft.card.adaptive"
        return {"type": "message", "attachments": [{"contentType": kind, "contentUrl": None, "content": card}]}

    def _pagerduty(self, change: Change) -> object:
        event: dict[str, object] = {
            "routing_key": ROUTING_KEY,
            "event_action": "resolve" if change.what == "ended" else "trigger",
            "dedup_key": find_dedup_key(change),
        }
        if change.what == "ended":
            return event
        link = self.link(change)
        payload = {
            "summary": self._sentence(change)[:MAX_SUMMARY],
            "source": f"{self._place(change)}{change.title or change.name}" or "Penstock",
            "severity": "info" if change.what in ("outage", "test") else SEVERITIES[change.level],
            "component": "penstock",
            "class": change.kind or change.what,
            "custom_details": {"number": change.number},
        }
        links = [{"href": link, "text": "Console"}] if link else []
        return {**event, "payload": payload, "client": "Penstock", "links": links}


def find_dedup_key(change: Change) -> str:
    """Returns the key that joins the events of one problem. All verdicts on a queue have the same key."""
    parts = (change.account_id, change.region, change.subject or change.what, change.name)
    if change.what == "outage":
        parts = ("", "", "outage", str(change.since))
    return "penstock-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def encode(document: object) -> str:
    return msgspec.json.encode(document).decode()


def _plain_line(sentence: str, link: str | None) -> str:
    return f"- {sentence} {link}" if link else f"- {sentence}"


def _slack_line(sentence: str, link: str | None) -> str:
    return f"• {_escape(sentence)} <{link}|Open>" if link else f"• {_escape(sentence)}"


def _teams_line(sentence: str, link: str | None) -> str:
    """Escapes the characters of Markdown, which a text block interprets."""
    escaped = "".join(f"\\{letter}" if letter in "\\`*_[]~" else letter for letter in sentence)
    return f"{escaped} [Open]({link})" if link else escaped


def _end(reason: str) -> str:
    """Returns a reason of limited length that ends like a sentence, because another sentence follows."""
    shown = reason if len(reason) <= MAX_TEXT else f"{reason[: MAX_TEXT - 1].rstrip()}…"
    return shown if shown.endswith((".", "!", "?", "…")) else f"{shown}."


def _escape(text: str) -> str:
    """Escapes Slack's three control characters."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _clock(moment: datetime | None) -> str:
    return "an unknown time" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _span(since: datetime | None, until: datetime | None) -> str:
    """Returns the time between two moments in its largest unit."""
    span = until - since if since is not None and until is not None else timedelta(0)
    for name, length in (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1))):
        if span >= length:
            number = span // length
            return f"{number} {name}{'' if number == 1 else 's'}"
    return "less than a minute"
