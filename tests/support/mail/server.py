"""A real SMTP server on a free port of 127.0.0.1. The name of a recipient says how it is answered."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

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
    """A mail that was accepted, or for which the answer was lost."""

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
    """`received`, in the order of arrival; `asked` counts RCPT commands by recipient.

    Names of recipients: those of REPLIES; `greylisted`: refused once; `slow`: no answer to DATA before `release`;
    `lost`, `deaf`: the server takes the mail and closes the connection without an answer, once or always; `spam`: DATA
    refused.
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
        login: Any = session.auth_data  # its type, which aiosmtpd does not name
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
    """The part of the address before `+` or `@`."""
    return address.partition("@")[0].partition("+")[0]


def login(_server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
    """The password of everybody is `pass word@`."""
    right = isinstance(data, LoginPassword) and data.password == b"pass word@"
    return AuthResult(success=right, handled=False, auth_data=data)


@contextmanager
def running_mail_server(
    starttls: ssl.SSLContext | None = None, tls: ssl.SSLContext | None = None
) -> Iterator[MailServer]:
    """A server in a thread. `starttls`: it offers STARTTLS, then AUTH; `tls`: TLS from the start."""
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
