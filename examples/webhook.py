"""A topic posts its messages to an HTTP endpoint, which confirms the subscription and verifies the signatures.

The service dials only public addresses, unless WEBHOOK_ALLOW_CIDRS names the network. `make run` allows loopback
addresses by itself; a service that you start otherwise needs WEBHOOK_ALLOW_CIDRS=127.0.0.0/8 for this example.
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
# The signed members, in this order; a message may lack some of them.
SIGNED = ("Message", "MessageId", "Subject", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
received: Queue[dict[str, str]] = Queue()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        received.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Do not log every request."""


def verify(message: dict[str, str]) -> None:
    """Raise InvalidSignature unless the service has signed the message."""
    # Anyone can sign with some key: a certificate counts only if it comes from the service.
    if not message["SigningCertURL"].startswith(f"{ENDPOINT}/"):
        raise ValueError(f"a certificate of somebody else: {message['SigningCertURL']}")
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
