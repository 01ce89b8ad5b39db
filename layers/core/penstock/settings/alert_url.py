"""Parses the addresses to which alerts go: QUEUE_ALERT_URL and the URLs of accounts.

The host of the URL, or a prefix such as `slack+`, names the format of the messages:

    https://hooks.slack.com/services/…                                      Slack's incoming webhooks
    https://….logic.azure.com/…, https://….api.powerplatform.com/…          workflows of Microsoft Teams
    https://events.pagerduty.com/v2/enqueue?routing_key=…                   PagerDuty's Events API v2
    https://alerts.example.com/penstock                                     any other URL: JSON of Penstock
    slack+https://chat.example.com/hooks/…                                  a server that accepts Slack's format
"""

import re
from typing import Final, Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit

AlertFormat = Literal["json", "slack", "teams", "pagerduty"]
ALERT_FORMATS: Final[dict[str, AlertFormat]] = {
    "json": "json", "slack": "slack", "teams": "teams", "pagerduty": "pagerduty",
}  # fmt: skip
_HOSTS: Final[tuple[tuple[str, AlertFormat], ...]] = (
    ("hooks.slack.com", "slack"),
    ("hooks.slack-gov.com", "slack"),
    (".logic.azure.com", "teams"),
    (".powerplatform.com", "teams"),
    (".webhook.office.com", "teams"),
    ("events.pagerduty.com", "pagerduty"),
    ("events.eu.pagerduty.com", "pagerduty"),
)
# delivery.http.endpoint accepts only these URLs. A URL of an alert has no user and no password.
URL: Final = r"https?://(?:\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)(?::[0-9]{1,5})?(?:[/?][!-~]*)?"
ALERT_PATTERN: Final = rf"(?:(?:json|slack|teams|pagerduty)\+)?{URL}"
MAX_CHARACTERS: Final = 2_048
HIDDEN: Final = "****"


class AlertUrl(NamedTuple):
    """The address of a POST, and the format of its body. `key` is PagerDuty's routing key, and otherwise empty."""

    format: AlertFormat
    url: str
    key: str = ""

    @property
    def server(self) -> str:
        """Returns the host and the port. The rest of the URL is secret."""
        return urlsplit(self.url).netloc

    @property
    def shown(self) -> str:
        """Returns the URL without its secret parts."""
        return f"{self.format}+{urlsplit(self.url).scheme}://{self.server}/{HIDDEN}"


def parse_alert_url(text: str) -> AlertUrl:
    """Parses the address of alerts. Raises ValueError, whose text does not repeat the address."""
    if len(text) > MAX_CHARACTERS or not re.fullmatch(ALERT_PATTERN, text):
        raise ValueError("a URL [slack+|teams+|pagerduty+|json+]http[s]://host[:port][/path][?query] without a user")
    prefix, plus, url = text.partition("+")
    if not plus or prefix not in ALERT_FORMATS:
        prefix, url = "", text
    parts = urlsplit(url)
    kind = ALERT_FORMATS.get(prefix) or _find_format((parts.hostname or "").lower())
    if parts.port == 0:
        raise ValueError("no such port: 0")
    if kind != "pagerduty":
        return AlertUrl(kind, url)
    key = dict(parse_qsl(parts.query)).get("routing_key", "")
    if not re.fullmatch("[A-Za-z0-9_-]{1,64}", key):
        raise ValueError("a URL of PagerDuty needs the integration key: …/v2/enqueue?routing_key=KEY")
    return AlertUrl(kind, url.partition("?")[0], key)


def _find_format(host: str) -> AlertFormat:
    for known, kind in _HOSTS:
        if host == known or (known.startswith(".") and host.endswith(known)):
            return kind
    return "json"
