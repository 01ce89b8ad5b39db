"""The carrier of e-mail. Each mail uses a new connection to the server of SNS_SMTP_URL.

The carrier logs in only over TLS. Each step and the whole attempt have time limits. The log shows the server's errors
to the operator. The subscriber's account sees a short text without the server's name.
"""

import asyncio
import logging
import socket
import ssl
from contextlib import suppress
from ipaddress import ip_address
from typing import Final

from aiosmtplib import SMTP, SMTPDataError, SMTPException, SMTPRecipientRefused, SMTPSenderRefused

from penstock.delivery.carrier import ATTEMPT_SECONDS
from penstock.delivery.delivery import Delivery
from penstock.delivery.http.resolver import resolve
from penstock.delivery.http.sender import Resolver
from penstock.delivery.outcome import Outcome
from penstock.endpoint import Address
from penstock.settings.mail_address import MailSender, MailServer

from .message import Mail, MailInvalid, render
from .outcome import build_accepted, build_impossible, build_refusal, build_unknown, build_unreachable

CONNECT_SECONDS: Final = 3.0
"""The time limit for name resolution and TCP."""
COMMAND_SECONDS: Final = 10.0
"""The time limit for TLS, and for the response to each command."""
QUIT_SECONDS: Final = 0.5
MAX_ADDRESSES: Final = 3

_log = logging.getLogger(__name__)


class MailCarrier:
    def find_server(self, _delivery: Delivery) -> None: ...

    def __init__(
        self, server: MailServer, sender: MailSender, resolver: Resolver = resolve, tls: ssl.SSLContext | None = None
    ) -> None:
        self._server = server
        self._sender = sender
        self._resolve = resolver
        self._tls = tls
        self._addresses: list[Address] = []
        self._looking_up = asyncio.Lock()

    async def carry(self, delivery: Delivery) -> Outcome:
        try:
            mail = render(delivery, self._sender)
        except MailInvalid as error:
            return build_impossible(error)
        sending = Sending()
        try:
            async with asyncio.timeout(ATTEMPT_SECONDS):
                await self._send(mail, sending)
            return build_accepted()
        except (SMTPRecipientRefused, SMTPDataError) as error:
            return build_refusal(delivery, error.code, error.message)
        except Exception as error:  # noqa: BLE001 - one delivery must not end the run of the others
            return self._report_failure(delivery, sending, error)

    def _report_failure(self, delivery: Delivery, sending: "Sending", error: Exception) -> Outcome:
        """Returns the outcome if the server or this program failed."""
        expected = isinstance(error, SMTPException | OSError | TimeoutError)
        _log.warning(
            "the mail server failed",
            exc_info=None if expected else error,
            extra={
                "server": f"{self._server.host}:{self._server.port}",
                "cause": str(error) or type(error).__name__,
                "delivery": delivery.delivery_id,
            },
        )
        if sending.began:
            return build_unknown(delivery)
        text = "refuses the sender" if isinstance(error, SMTPSenderRefused) else "cannot be used"
        return build_unreachable(delivery, f"the mail server {text} at present")

    async def _send(self, mail: Mail, sending: "Sending") -> None:
        client = await self._connect()
        try:
            await client.mail(self._sender.address)
            await client.rcpt(mail.recipient)
            sending.began = True
            await client.data(mail.content)
            with suppress(SMTPException, OSError, TimeoutError):  # the server has already accepted the mail
                await client.quit(timeout=QUIT_SECONDS)
        finally:
            client.close()

    async def _connect(self) -> "SmtpClient":
        """Opens a connection for mails. Raises SMTPException, OSError and TimeoutError."""
        async with asyncio.timeout(CONNECT_SECONDS):
            connected = await self._dial()
        server = self._server
        client = SmtpClient(
            hostname=server.host,  # the name in the server's certificate
            sock=connected,
            use_tls=server.secure,
            start_tls=False if server.secure else (True if server.user is not None else None),
            username=server.user,
            password=server.password if server.user is not None else None,
            local_hostname=_own_name(),
            timeout=COMMAND_SECONDS,
            tls_context=self._context(),
        )
        try:
            await client.connect()
        except BaseException:
            connected.close()
            raise
        return client

    async def _dial(self) -> socket.socket:
        failed = OSError(f"{self._server.host} has no address")
        for address in (await self._find_addresses())[:MAX_ADDRESSES]:
            family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
            connected = socket.socket(family, socket.SOCK_STREAM)
            connected.setblocking(False)
            try:
                await asyncio.get_running_loop().sock_connect(connected, (str(address), self._server.port))
            except OSError as error:
                connected.close()
                failed = error
            except BaseException:
                connected.close()
                raise
            else:
                return connected
        raise failed

    async def _find_addresses(self) -> list[Address]:
        """Returns the server's addresses. Each run looks up the addresses once."""
        async with self._looking_up:
            if not self._addresses:
                try:
                    self._addresses = [ip_address(self._server.host)]
                except ValueError:
                    self._addresses = await self._resolve(self._server.host, "")
        return self._addresses

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls


class SmtpClient(SMTP):
    """A client whose `close` drops the connection even if the server does not respond."""

    def close(self) -> None:
        transport = self.transport
        super().close()
        if isinstance(transport, asyncio.WriteTransport):
            transport.abort()


class Sending:
    """The progress of an attempt. `began` means that the server may have received the mail."""

    began = False


def _own_name() -> str:
    """Returns this machine's name for EHLO, without a DNS query."""
    name = socket.gethostname()
    return name if name.isascii() and name.replace("-", "").replace(".", "").isalnum() else "localhost"
