"""Runs the configurations of docs/operate/https.md: boto3 signs requests and sends them over TLS to Caddy and nginx.

The requests have signatures, a long poll, a message of 1 MiB, a queue URL in a request to the URL's own address, and
a tag whose escaped characters are in a path. Source of the limits: "Amazon SQS message quotas" in the SQS developer
guide (1 MiB), "ReceiveMessage" in the SQS API reference (20 seconds).
"""

from __future__ import annotations

import base64
import os
import shutil
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest

from penstock_web.local.postgres import free_port
from tests.support.pages.script import blocks
from tests.support.programs.penstock_up import COMMAND, running
from tests.support.tls.certificates import Authority
from tests.support.wait import wait_until

pytestmark = pytest.mark.clients

PAGE = "docs/operate/https.md"
NAME = "queues.example.com"
ENCRYPTION_KEY = base64.b64encode(bytes(32)).decode()
# Without root, nginx cannot write to /var, and ignores `user`.
NGINX = """daemon off;
user root;
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/penstock.conf;
}}
"""


def read_configuration(start: str) -> str:
    """Returns the page's block that begins with the given text."""
    (block,) = [block.text for block in blocks(PAGE) if block.text.startswith(start)]
    return block


def replace(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def write_caddy(folder: Path, port: int, service: int) -> list[str]:
    """Caddy takes the test's certificate instead of one from a public authority."""
    address = f"{{\n    admin off\n    auto_https disable_redirects\n}}\nhttps://127.0.0.1:{port} {{"
    certificate = f"reverse_proxy 127.0.0.1:{service}\n    tls {folder}/fullchain.pem {folder}/privkey.pem"
    text = read_configuration(NAME)
    text = replace(text, (f"{NAME} {{", address), ("reverse_proxy 127.0.0.1:9324", certificate))
    (folder / "Caddyfile").write_text(text)
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


def write_nginx(folder: Path, port: int, service: int) -> list[str]:
    text = replace(
        read_configuration("server {"),
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        (f"server_name {NAME}", "server_name 127.0.0.1"),
        (f"/etc/letsencrypt/live/{NAME}", str(folder)),
        ("127.0.0.1:9324", f"127.0.0.1:{service}"),
    )
    (folder / "penstock.conf").write_text(text)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder))
    return [shutil.which("nginx") or "/usr/sbin/nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)]


@contextmanager
def proxy(command: list[str], address: str, context: ssl.SSLContext, folder: Path) -> Iterator[None]:
    """Runs a proxy until the end of the block. Begins when the service responds through the proxy."""
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "HOME": str(folder)})
    try:

        def is_ready() -> bool:
            assert process.poll() is None, (folder / "log").read_text()
            try:
                with urllib.request.urlopen(f"{address}/livez", context=context) as response:
                    return bool(response.status == 200)
            except OSError:
                return False

        wait_until(is_ready)
        yield
    finally:
        process.terminate()
        process.wait(30)


def create_key(variables: dict[str, str]) -> dict[str, str]:
    environment = {**os.environ, **variables}
    done = subprocess.run([*COMMAND, "keys", "create"], env=environment, capture_output=True, text=True, check=True)
    shown = dict(line.split("=", 1) for line in done.stdout.splitlines() if line.startswith("AWS_"))
    return {name.lower(): shown[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}


@pytest.mark.parametrize("write", [write_caddy, write_nginx], ids=["caddy", "nginx"])
def test_signed_requests_pass_a_proxy_with_tls(write: Any, tmp_path: Path) -> None:
    authority, port, service = Authority(), free_port(), free_port()
    certificate = authority.server("127.0.0.1")
    (tmp_path / "fullchain.pem").write_text(certificate.certificate)
    (tmp_path / "privkey.pem").write_text(certificate.key)
    (tmp_path / "authority.pem").write_text(authority.pem)
    address = f"https://127.0.0.1:{port}"
    settings = {
        "QUEUE_ACCESS": "sigv4",
        "QUEUE_ENCRYPTION_KEY": ENCRYPTION_KEY,
        "QUEUE_BASE_URL": address,
        "QUEUE_TRUST_FORWARDED": "true",
    }
    command = write(tmp_path, port, service)
    context = ssl.create_default_context(cadata=authority.pem)
    with running("--ephemeral", port=service, **settings) as up, proxy(command, address, context, tmp_path):
        key = create_key({**settings, "DATABASE_URL": up.dsn})
        sqs, scheduler = (
            boto3.client(
                name,
                endpoint_url=address,
                region_name="us-east-1",
                verify=str(tmp_path / "authority.pem"),
                **key,
            )
            for name in ("sqs", "scheduler")
        )
        url = sqs.create_queue(QueueName="orders")["QueueUrl"]
        assert url.startswith(f"{address}/")
        body = "ö" * 2**19
        sqs.send_message(QueueUrl=url, MessageBody=body)
        (message,) = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
        assert message["Body"] == body
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        # A path with an escaped slash: the proxy must not decode it before the signature is verified.
        group = scheduler.create_schedule_group(Name="reports")["ScheduleGroupArn"]
        assert scheduler.list_tags_for_resource(ResourceArn=group)["Tags"] == []
        with pytest.raises(sqs.exceptions.ClientError, match="SignatureDoesNotMatch"):
            boto3.client(
                "sqs",
                endpoint_url=address,
                region_name="us-east-1",
                verify=str(tmp_path / "authority.pem"),
                aws_access_key_id=key["aws_access_key_id"],
                aws_secret_access_key="wrong",
            ).list_queues()
