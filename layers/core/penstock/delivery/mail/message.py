"""Builds the mail of a delivery.

A notification has the message's subject, or SUBJECT. The unsubscribe link follows the text. The sender's name is the
topic's DisplayName. The text of an `email-json` mail is the envelope, which contains the link. Sources: "Email
notifications" and "Parsing message formats" (SNS Developer Guide), and a mail from AWS in pull request 102 of
librato/librato-services. Penstock chose the texts about subscriptions. RFC 2369 and RFC 8058 define the headers for
one-click unsubscription. `Auto-Submitted` prevents automatic replies (RFC 3834).

Line breaks and other control characters in users' texts never reach a header.
"""

import re
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from typing import Final, NamedTuple

import msgspec

from penstock.delivery.delivery import Delivery
from penstock.settings.mail_address import MailSender, is_email_address

SUBJECT: Final = "AWS Notification Message"
CONFIRMATION_SUBJECT: Final = "AWS Notification - Subscription Confirmation"
UNSUBSCRIBED_SUBJECT: Final = "AWS Notification - Unsubscribe Confirmation"

_TEXT_POLICY: Final = SMTP.clone(cte_type="7bit")
# The policy does not fold a header inside a link, because some mail readers do not join the parts.
_HEADER_POLICY: Final = _TEXT_POLICY.clone(max_line_length=998)
_control = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_is_link = re.compile(r"https?://[!-;=?-~]{1,900}").fullmatch


class MailInvalid(ValueError):  # noqa: N818 - named for the event
    """The delivery cannot become a mail, because its recipient is not an address."""


class Mail(NamedTuple):
    recipient: str
    content: bytes


class _Document(msgspec.Struct):
    """The part of a mail's data from queue.hand_over_mail that the renderer reads."""

    kind: str
    protocol: str
    destination: str
    text: str
    subject: str | None = None
    display_name: str | None = None
    unsubscribe_url: str | None = None


class _Confirmation(msgspec.Struct):
    """The members of a confirmation that the mail shows."""

    topic_arn: str = msgspec.field(name="TopicArn")
    subscribe_url: str = msgspec.field(name="SubscribeURL")


_document = msgspec.json.Decoder(_Document)
_confirmation = msgspec.json.Decoder(_Confirmation)


def render(delivery: Delivery, sender: MailSender, now: datetime | None = None) -> Mail:
    """Returns the mail. All attempts have the same Message-ID. Raises MailInvalid."""
    document = _document.decode(delivery.body)
    if not is_email_address(document.destination):
        raise MailInvalid("the recipient is not an e-mail address")
    link = document.unsubscribe_url
    if link is not None and not _is_link(link):
        link = None
    message = EmailMessage(policy=_TEXT_POLICY)
    message["From"] = _build_address(join_lines(document.display_name or sender.name), sender.address)
    message["To"] = _build_address("", document.destination)
    message["Subject"] = join_lines(_build_subject(document))
    message["Date"] = now or datetime.now(UTC)
    message["Message-ID"] = _build_message_id(delivery, sender)
    message["Auto-Submitted"] = "auto-generated"
    if link is not None:
        message["List-Unsubscribe"] = f"<{link}>"
        if link.startswith("https:"):  # the only value that RFC 8058 permits
            message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message.set_content(_build_text(document, link))
    return Mail(document.destination, message.as_bytes(policy=_HEADER_POLICY))


def join_lines(text: str) -> str:
    """Returns the text without line breaks and other control characters."""
    return _control.sub(" ", text).strip()


def _build_address(name: str, address: str) -> Address:
    user, _, domain = address.rpartition("@")
    return Address(name, user, domain)


def _build_message_id(delivery: Delivery, sender: MailSender) -> str:
    subscription = (delivery.subscription_arn or "").rpartition(":")[2]
    domain = sender.address.rpartition("@")[2]
    return f"<{delivery.message_id}.{subscription}@{domain}>"


def _build_subject(document: _Document) -> str:
    if document.kind == "SubscriptionConfirmation":
        return CONFIRMATION_SUBJECT
    if document.kind == "UnsubscribeConfirmation":
        return UNSUBSCRIBED_SUBJECT
    return document.subject or SUBJECT


def _build_text(document: _Document, link: str | None) -> str:
    if document.protocol == "email-json":
        return document.text
    if document.kind == "Notification":
        return document.text + _build_footer(link)
    about = _confirmation.decode(document.text)
    if document.kind == "SubscriptionConfirmation":
        return (
            f"You have chosen to subscribe to the topic:\n{about.topic_arn}\n\n"
            "To confirm this subscription, visit the link below. If this was in error, no action is necessary:\n"
            f"{about.subscribe_url}\n\n"
            "Please do not reply directly to this email.\n"
        )
    return (
        f"Your subscription to the topic below has been deactivated:\n{about.topic_arn}\n\n"
        "If this was in error, visit the link below to subscribe again:\n"
        f"{about.subscribe_url}\n\n"
        "Please do not reply directly to this email.\n"
    )


def _build_footer(link: str | None) -> str:
    """Returns a message's footer. If the footer has no link, only the subscriber's account can unsubscribe."""
    if link is None:
        return "\n\n--\nPlease do not reply directly to this email.\n"
    return (
        "\n\n--\nIf you wish to stop receiving notifications from this topic, please click or visit the link below to "
        f"unsubscribe:\n{link}\n\nPlease do not reply directly to this email.\n"
    )
