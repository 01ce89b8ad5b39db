"""Imitates Secrets Manager with one secret, for functions that sign their requests without boto3.

Sources: "GetSecretValue" (AWS Secrets Manager API Reference), and botocore's signature.
"""

from __future__ import annotations

import json
import ssl
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.support.tls.certificates import Authority

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY_ID: Final = "ASIAEXAMPLE"
SECRET: Final = "secret/of/a+role"
TOKEN: Final = "token//of+a=session"
REGION: Final = "us-east-1"


class SecretsManager:
    """`text` is the secret, or None if the secret does not exist. The service first returns the responses in `refusals`
    (status, error name). `calls` counts the requests.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.text: str | None = None
        self.refusals: list[tuple[int, str]] = []
        self.calls = 0
        self.variables: dict[str, str] = {}

    def store(self, **members: object) -> None:
        self.text = json.dumps(members)

    def response(self, url: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, Any]]:
        self.calls += 1
        if headers.get("authorization") != sign_by_botocore(url, headers, body):
            return 400, {"__type": "InvalidSignatureException"}
        if self.refusals:
            status, kind = self.refusals.pop(0)
            return status, {"__type": f"com.amazonaws.secretsmanager#{kind}"}
        if self.text is None or json.loads(body) != {"SecretId": self.name}:
            return 400, {"__type": "ResourceNotFoundException", "Message": "no such secret"}
        return 200, {"Name": self.name, "SecretString": self.text, "CreatedDate": 1.5}


def sign_by_botocore(url: str, headers: dict[str, str], body: bytes) -> str:
    """Returns botocore's Authorization header for a request to Secrets Manager with the given headers."""
    kept = ("content-type", "x-amz-target")
    request = AWSRequest("POST", url, data=body, headers={name: headers[name] for name in kept})
    at = datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    with patch("botocore.auth.get_current_datetime", return_value=at):
        SigV4Auth(Credentials(KEY_ID, SECRET, TOKEN), "secretsmanager", REGION).add_auth(request)
    return str(request.headers["Authorization"])


def build_handler(manager: SecretsManager) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, response = manager.response(f"https://{headers['host']}{self.path}", headers, body)
            written = json.dumps(response).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(written)))
            self.end_headers()
            self.wfile.write(written)

        def log_message(self, *_: object) -> None:
            """Writes no log."""

    return Handler


@contextmanager
def secrets_manager(name: str = "penstock", parent: Path | None = None) -> Iterator[SecretsManager]:
    """Runs the service with TLS. `variables` contains the environment variables for functions.

    The certificate file also contains this machine's authorities, because functions on AWS need time to load them too.
    Without `parent` the service's folder is in /tmp, which function processes cannot read.
    """
    manager = SecretsManager(name)
    with (
        TemporaryDirectory(dir=parent) as folder,
        ThreadingHTTPServer(("127.0.0.1", 0), build_handler(manager)) as server,
    ):
        authority = Authority()
        made = authority.server("127.0.0.1")
        files = {each: Path(folder, each) for each in ("ca", "certificate", "key")}
        for file, text in zip(files.values(), (authority.pem, made.certificate, made.key), strict=True):
            file.write_text(text)
        if (machine := Path("/etc/ssl/certs/ca-certificates.crt")).exists():
            files["ca"].write_text(authority.pem + machine.read_text())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files["certificate"], files["key"])
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        manager.variables = {
            "AWS_ENDPOINT_URL_SECRETS_MANAGER": f"https://127.0.0.1:{server.server_port}",
            "SSL_CERT_FILE": str(files["ca"]),
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_SESSION_TOKEN": TOKEN,
        }
        try:
            yield manager
        finally:
            server.shutdown()
            thread.join()
