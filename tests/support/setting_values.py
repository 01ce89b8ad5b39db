"""Lists two texts for every setting: a valid value other than the default, and an invalid value."""

from base64 import b64encode
from typing import Any, Final

from penstock.settings import SETTINGS, Setting, formats

_OF_FORMATS: Final = {
    formats.ACCOUNT: "111122223333",
    formats.ADDRESS: "0.0.0.0:8000",
    formats.ALERT_URL: "slack+https://chat.example.com/hooks/secret?token=[a]",
    formats.BASE_URL: "https://queues.example.com",
    formats.COLLECTOR: "https://collector.example.com:4317",
    formats.ENCRYPTION_KEY: b64encode(bytes(range(32))).decode(),
    formats.GATEWAY_URL: "https://gateway.example.com/in?token=[a]",
    formats.HOST: "sns.eu-central-1.amazonaws.com",
    formats.HOSTS: "queues.example.com, *.example.org, [fd00::1]",
    formats.MAIL_RECIPIENT: "oncall@example.com",
    formats.MAIL_SENDER: "Notifications <no-reply@example.com>",
    formats.MAIL_SERVER: "smtps://user:password@mail.example.com",
    formats.REGION: "eu-central-1",
    formats.REGIONS: "eu-central-1, eu-west-1",
    formats.TIME_ZONE: "America/Argentina/Buenos_Aires",
    formats.TOKEN: "a-token",
}

ACCEPTED: Final[dict[str, str]] = {}
"""Valid texts by setting. A process can start with all of the valid texts together."""

REFUSED: Final[dict[str, str]] = {}
"""Invalid texts by setting. Settings that accept every text, and secrets, are missing."""


def _choose_accepted(setting: Setting[Any]) -> str:
    if setting.format is not None:
        return _OF_FORMATS[setting.format]
    if setting.choices:
        return next(choice for choice in reversed(setting.choices) if choice != setting.default)
    if setting.kind == "boolean":
        return setting.write(not setting.default)
    if setting.kind == "string":
        return 'text with "quotes", $, ${A} and %{B}'
    return setting.write(setting.maximum if setting.default != setting.maximum else setting.minimum)


def _choose_refused(setting: Setting[Any]) -> str | None:
    if setting.kind in {"integer", "number"}:
        return str(setting.maximum + 1) if setting.maximum is not None else "many"
    if setting.format is not None and setting.format.pattern:
        return "ä"
    return "perhaps" if setting.choices or setting.kind == "boolean" else None


for _setting in SETTINGS:
    ACCEPTED[_setting.name] = _choose_accepted(_setting)
    _refused = _choose_refused(_setting)
    if _refused is not None and not _setting.secret:
        REFUSED[_setting.name] = _refused
