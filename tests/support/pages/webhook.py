"""Creates a bus and a webhook for GitHub in the service at PENSTOCK_ENDPOINT, for pages whose reader has done so. The
installed AWS CLI does not know webhooks."""

import os
import sys

import boto3
import httpx

from penstock.aws.codec import cbor
from tests.support.conformance.webhooks import GITHUB

ACCOUNT, REGION = "000000000000", "us-east-1"


def main(bus: str, name: str) -> None:
    endpoint_url = os.environ["PENSTOCK_ENDPOINT"]
    client = boto3.client(
        "eventbridgev2",
        endpoint_url=endpoint_url,
        region_name=REGION,
        aws_access_key_id=ACCOUNT,
        aws_secret_access_key="any",
    )
    configuration = {
        "AuthConfiguration": {"HmacAuthConfiguration": GITHUB},
        "RoleArn": f"arn:aws:iam::{ACCOUNT}:role/any",
        "MetadataHttpHeaders": ["X-GitHub-Event"],
    }
    members = {
        "Name": name,
        "EventBusArn": client.create_event_bus(Name=bus)["EventBusArn"],
        "Configuration": {"WebhookEventsConfiguration": configuration},
    }
    headers = {"smithy-protocol": "rpc-v2-cbor", "content-type": "application/cbor"}
    url = f"{endpoint_url}/service/AWSEventsV2/operation/CreateEventSource"
    httpx.post(url, content=cbor.encode(members), headers=headers).raise_for_status()


if __name__ == "__main__":
    main(*sys.argv[1:])
