"""Subscribes an HTTP endpoint to a topic. The endpoint confirms the subscription and verifies signatures.

The service connects only to public addresses and to networks in WEBHOOK_ALLOW_CIDRS. `make run` allows loopback
addresses. Other services need WEBHOOK_ALLOW_CIDRS=127.0.0.0/8 for this example.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import Queue
from threading import Thread

import boto3
import urllib3
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509 import load_pem_x509_certificate

ENDPOINT = os.environ.get("AWS_ENDPOINT_URL", "http://127.0.0.1:9324")
# The signed members, in the order of the signed text. No message has all of these members.
SIGNED = ("Message", "MessageId", "Subject", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
received: Queue[dict[str, str]] = Queue()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        received.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Does not log requests."""


def verify(message: dict[str, str]) -> None:
    """Raises InvalidSignature unless the service has signed the message."""
    # Anyone can sign with a private key, so the certificate must come from the service.
    if not message["SigningCertURL"].startswith(f"{ENDPOINT}/"):
        raise ValueError(f"the certificate is not the service's: {message['SigningCertURL']}")
    key = load_pem_x509_certificate(urllib3.request("GET", message["SigningCertURL"]).data).public_key()
    if not isinstance(key, rsa.RSAPublicKey):
        raise TypeError("the certificate has no RSA key")
    text = "".join(f"{name}\n{message[name]}\n" for name in SIGNED if name in message)
    key.verify(b64decode(message["Signature"]), text.encode(), padding.PKCS1v15(), SHA256())


def main() -> None:
    sns = boto3.client(
        "sns", endpoint_url=ENDPOINT, region_name="us-east-1",
        aws_access_key_id="any", aws_secret_access_key="any",
    )  # fmt: skip
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    Thread(target=server.serve_forever, daemon=True).start()
    topic = sns.create_topic(Name="example-webhook", Attributes={"SignatureVersion": "2"})["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="http", Endpoint=f"http://127.0.0.1:{server.server_port}/")
    confirmation = received.get(timeout=60)
    verify(confirmation)
    subscription = sns.confirm_subscription(TopicArn=topic, Token=confirmation["Token"])["SubscriptionArn"]
    print(f"confirmed {subscription}")
    sns.publish(TopicArn=topic, Message="it works")
    message = received.get(timeout=60)
    verify(message)
    print(f"received, with a valid signature: {message['Message']}")
    sns.unsubscribe(SubscriptionArn=subscription)
    server.shutdown()
    server.server_close()


if __name__ == "__main__":
    main()
