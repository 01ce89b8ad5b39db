"""Runs an SMTP server on a free port of 127.0.0.1. The recipient's name selects the server's response.

Also writes e-mail subscribers and their messages to the database, like Subscribe and Publish.
"""

import asyncio
import json
import ssl
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.support.sql.calls import ACCOUNT, REGION, Connection

REPLIES = {
    "refused": "550 5.1.1 no such user",
    "old": "550 no such user",
    "full": "552 5.2.2 mailbox full",
    "blocked": "554 5.7.1 your address is blocked",
    "busy": "451 4.3.0 try again later",
    "away": "421 4.3.2 closing",
}
GREYLISTED = "450 4.2.0 greylisted, try again"


@dataclass
class Received:
    """Represents a mail that the server accepted, even if the response was lost."""

    sender: str
    recipients: list[str]
    raw: bytes
    user: str | None = None

    @property
    def message(self) -> EmailMessage:
        parsed = message_from_bytes(self.raw, policy=policy.default)
        assert isinstance(parsed, EmailMessage)
        return parsed

    @property
    def text(self) -> str:
        return str(self.message.get_content()).replace("\r\n", "\n")


@dataclass
class MailServer:
    """`received` is in the order of arrival. `asked` counts RCPT commands by recipient.

    The names in REPLIES and some other names select a response. `greylisted` is refused once. `slow` receives no
    response to DATA before `release`. For `lost` (once) and `deaf` (always), the server accepts the mail but closes the
    connection without a response. `spam` is refused at DATA.
    """

    port: int = 0
    received: list[Received] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    connections: int = 0
    release: threading.Event = field(default_factory=threading.Event)
    sender_reply: str = "250 OK"

    def url(self, login: str = "", scheme: str = "smtp") -> str:
        return f"{scheme}://{login}127.0.0.1:{self.port}"

    def to(self, address: str) -> list[Received]:
        return [each for each in self.received if each.recipients == [address]]

    # --- called by aiosmtpd ------------------------------------------------------------------------------------------
    async def handle_MAIL(  # noqa: N802 - a name and parameters of aiosmtpd
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        envelope.mail_from = address
        return self.sender_reply

    async def handle_RCPT(  # noqa: N802
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        self.asked[address] += 1
        name = name_of(address)
        if name == "greylisted" and self.asked[address] == 1:
            return GREYLISTED
        if name in REPLIES:
            return REPLIES[name]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        (address,) = envelope.rcpt_tos
        name = name_of(address)
        if name == "spam":
            return "554 5.6.0 not wanted"
        login: Any = session.auth_data  # aiosmtpd does not name this type.
        user = login.login.decode() if isinstance(login, LoginPassword) else None
        raw = envelope.original_content or b""
        first = not self.to(address)
        self.received.append(Received(envelope.mail_from or "", list(envelope.rcpt_tos), raw, user))
        if name == "slow":
            await asyncio.to_thread(self.release.wait)
        transport = server.transport
        if (name == "deaf" or (name == "lost" and first)) and isinstance(transport, asyncio.WriteTransport):
            transport.abort()
        return "250 OK"


def name_of(address: str) -> str:
    """Returns the part of the address before `+` or `@`."""
    return address.partition("@")[0].partition("+")[0]


def login(_server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
    """Checks a login. Every user's password is `pass word@`."""
    right = isinstance(data, LoginPassword) and data.password == b"pass word@"
    return AuthResult(success=right, handled=False, auth_data=data)


@contextmanager
def running_mail_server(
    starttls: ssl.SSLContext | None = None, tls: ssl.SSLContext | None = None
) -> Iterator[MailServer]:
    """Runs a server in a thread. With `starttls`, the server offers STARTTLS and then AUTH. With `tls`, the server uses
    TLS from the start.
    """
    server, loop = MailServer(), asyncio.new_event_loop()

    def protocol() -> SMTP:
        server.connections += 1
        return SMTP(
            server,
            hostname="mail.example.com",
            tls_context=starttls,
            authenticator=login,
            auth_require_tls=tls is None,
            loop=loop,
        )

    listening = loop.run_until_complete(loop.create_server(protocol, "127.0.0.1", 0, ssl=tls))
    server.port = listening.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server
    finally:
        server.release.set()
        loop.call_soon_threadsafe(listening.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


LINK = "https://queues.example.com/?Action=Unsubscribe&SubscriptionArn="


def create_topic(db: Connection, account: str = ACCOUNT, **attributes: str) -> str:
    """Creates a topic and returns its ARN."""
    row = db.execute(
        "select arn from queue.create_topic(%s, %s, %s, %s, '{}')",
        (account, REGION, f"news-{uuid.uuid4().hex}", json.dumps(attributes)),
    ).fetchone()
    assert row is not None
    return str(row[0])


def ask(db: Connection, topic: str, address: str, protocol: str = "email") -> str:
    """Subscribes an address without confirmation. Returns the subscription's ARN."""
    token = uuid.uuid4().hex * 5
    confirmation = {
        "Type": "SubscriptionConfirmation", "MessageId": str(uuid.uuid4()), "Token": token, "TopicArn": topic,
        "SubscribeURL": f"https://queues.example.com/?Action=ConfirmSubscription&TopicArn={topic}&Token={token}",
    }  # fmt: skip
    row = db.execute(
        "select arn from queue.add_subscription(%s, gen_random_uuid(), %s, %s, %s, '{}', null, %s, %s, 0, 0, '{}',"
        " null)",
        (topic, topic.split(":")[4], protocol, address, token, json.dumps(confirmation)),
    ).fetchone()
    assert row is not None
    return str(row[0])


def subscribe(
    db: Connection, topic: str, address: str, protocol: str = "email", dead_letters: str | None = None
) -> str:
    """Subscribes an address and confirms the subscription. Returns the subscription's ARN."""
    policy = json.dumps({"RedrivePolicy": json.dumps({"deadLetterTargetArn": dead_letters})})
    row = db.execute(
        "select arn from queue.add_subscription(%s, gen_random_uuid(), %s, %s, %s, %s, null, null, null, 0, 0, '{}',"
        " null)",
        (topic, topic.split(":")[4], protocol, address, policy if dead_letters else "{}"),
    ).fetchone()
    assert row is not None
    return str(row[0])


def publish(
    db: Connection,
    subscription: str,
    text: str,
    subject: str | None = None,
    attributes: dict[str, Any] | None = None,
    link: str | None = LINK,
) -> uuid.UUID:
    """Publishes one message to one subscription. Returns its id."""
    message_id = uuid.uuid4()
    db.execute(
        "insert into queue.outgoing (account_id, region, protocol, kind, destination, message_id, topic_arn,"
        " subscription_arn, subject, body, attributes, unsubscribe_url, dead_letter_arn, envelope)"
        " select t.account_id, t.region, s.protocol, 'Notification', s.endpoint, %s, t.arn, s.arn, %s, %s, %s,"
        " %s || s.arn, s.dead_letter_arn, %s"
        " from queue.subscription s join queue.topic t using (topic_id) where s.arn = %s",
        (
            message_id,
            subject,
            text,
            None if attributes is None else json.dumps(attributes),
            link,
            json.dumps({"Message": text}),
            subscription,
        ),
    )
    return message_id


def states(db: Connection) -> list[tuple[str, str | None]]:
    """Returns the state and error of each outgoing message, the oldest first."""
    return db.execute("select state, error from queue.outgoing order by outgoing_id").fetchall()


def pass_hours(db: Connection, hours: float) -> None:
    """Simulates the passing of time by moving the times of confirmations, mails and tokens back."""
    by = (f"{hours} hours",)
    db.execute("update queue.confirmation_mail set due_at = due_at - %s::interval", by)
    db.execute("update queue.outgoing_delivery set due_at = due_at - %s::interval", by)
    db.execute("update queue.subscription set token_expires_at = token_expires_at - %s::interval", by)
