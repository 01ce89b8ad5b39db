"""Invocations are signed with the credentials of the process.

Sources: "Signature Version 4 for API requests" (AWS IAM User Guide); "Credentials" (boto3 documentation),
https://boto3.amazonaws.com/v1/documentation/api/latest/guide/credentials.html; "Container credential provider" (AWS
SDKs and Tools Reference Guide), https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from penstock.access.sigv4 import parse, verify
from penstock.errors import AwsError
from penstock.http import HttpRequest
from tests.support.database import Database
from tests.support.mappings.functions import Functions, Invocation, Refusal, running_functions
from tests.support.programs.penstock_service import running_service
from tests.support.wait import wait_until

KEY_ID, SECRET, TOKEN = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "session-token"
ALONE = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_SHARED_CREDENTIALS_FILE": "/none",
    "AWS_CONFIG_FILE": "/none",
}


def ignore(_: Any) -> None:
    """A function that succeeds."""


def check(invocation: Invocation) -> None:
    """As Lambda does: a request that was not signed with the secret, for the service and the region, is refused."""
    address = urlsplit(invocation.target)
    headers = {name.encode(): value.encode() for name, value in invocation.headers.items()}
    http = HttpRequest("POST", address.path, address.query.encode(), headers, invocation.body)
    try:
        claim = parse(http)
        verify(http, claim, SECRET, time.time())
    except AwsError as error:
        raise Refusal(403, type(error).__name__) from error
    if (claim.access_key_id, claim.region, claim.service) != (KEY_ID, "us-east-1", "lambda"):
        raise Refusal(403, "InvalidSignatureException")


def check_session(invocation: Invocation) -> None:
    """The same for credentials with a token, which Penstock's verifier refuses: botocore's signer signs again."""
    headers = invocation.headers
    signed = headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    url = f"http://{headers['host']}{invocation.target}"
    request = AWSRequest("POST", url, data=invocation.body, headers={name: headers[name] for name in signed})
    request.context["timestamp"] = headers["x-amz-date"]
    signer = SigV4Auth(Credentials(KEY_ID, SECRET, TOKEN), "lambda", "us-east-1")
    signature = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    if "x-amz-security-token" not in signed or not headers["authorization"].endswith(
        f"Signature={signature}"
    ):
        raise Refusal(403, "InvalidSignatureException")


def last_result(database: Database, functions: Functions, **credentials: str) -> str:
    """The result of the invocation of a mapping's function, which is named with an alias."""
    settings = {"QUEUE_LAMBDA_ENDPOINT": functions.url, **ALONE, **credentials}
    with running_service(database.api_dsn, **settings) as service:
        sqs, client = service.sqs(), service.client("lambda")
        url = sqs.create_queue(QueueName="signed")["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody="ä")
        made = client.create_event_source_mapping(
            EventSourceArn="arn:aws:sqs:us-east-1:000000000000:signed", FunctionName="f:live"
        )

        def result() -> str:
            return str(client.get_event_source_mapping(UUID=made["UUID"])["LastProcessingResult"])

        wait_until(lambda: result() != "No records processed")
        return result()


def test_credentials_of_the_environment(database: Database) -> None:
    with running_functions(f=ignore) as functions:
        functions.authorize = check
        keys = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET}
        assert last_result(database, functions, **keys) == "OK"


@contextmanager
def container_role() -> Iterator[str]:
    """The address at which a container gets the credentials of its role."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({
                "AccessKeyId": KEY_ID, "SecretAccessKey": SECRET, "Token": TOKEN, "Expiration": "2100-01-01T00:00:00Z",
            }).encode()  # fmt: skip
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Writes nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/role"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_role_of_a_container(database: Database) -> None:
    with running_functions(f=ignore) as functions, container_role() as address:
        functions.authorize = check_session
        assert last_result(database, functions, AWS_CONTAINER_CREDENTIALS_FULL_URI=address) == "OK"
