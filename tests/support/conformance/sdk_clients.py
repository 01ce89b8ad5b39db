"""Provides SDK clients.

For SQS, botocore uses AWS JSON, or Query with the model of 1.31.80. For SNS, botocore uses Query, or JSON with a
changed model. For EventBridge Scheduler, botocore uses REST-JSON. The models of these services do not have CBOR
(smithy-rpc-v2-cbor) yet. These clients therefore add CBOR to the models.

Every client stores the last raw response, because botocore omits parts of the response (`__type`).
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.loaders import Loader

QUERY_MODELS = Path(__file__).parents[3] / ".tools/query-client/botocore/data"
ACCOUNT, REGION = "000000000000", "us-east-1"

# Retries would hide errors and slow tests down.
_CONFIG = Config(retries={"total_max_attempts": 1}, read_timeout=40)


@dataclass
class Response:
    """A raw response. Header names are in lower case."""

    status: int = 0
    headers: dict[str, str] | None = None
    body: bytes = b""


class JsonSns(Loader):  # type: ignore[misc]  # botocore has no types
    def load_service_model(self, service_name: str, type_name: str, api_version: str | None = None) -> Any:
        model = super().load_service_model(service_name, type_name, api_version)
        if service_name == "sns" and type_name == "service-2":
            model["metadata"] |= {
                "protocol": "json", "protocols": ["json"], "jsonVersion": "1.0", "targetPrefix": "AmazonSNS",
            }  # fmt: skip
        return model


# The names of the services' shapes in AWS's Smithy models (github.com/aws/api-models-aws).
SHAPE_NAMES = {
    "sqs": "AmazonSQS",
    "sns": "AmazonSimpleNotificationService",
    "sts": "AWSSecurityTokenServiceV20110615",
    "scheduler": "AWSChronosService",
}
# botocore's names of protocols, as far as they differ from the tests' names.
PROTOCOL_NAMES = {"cbor": "smithy-rpc-v2-cbor"}
_TRAITS_OF_OTHER_PROTOCOLS = ("location", "locationName", "flattened", "jsonvalue")


def use_cbor(model: Any, service: str) -> Any:
    """Returns a copy of a service's model with CBOR as its only protocol."""
    model = _without_traits(model)
    name = PROTOCOL_NAMES["cbor"]
    model["metadata"] |= {"protocol": name, "protocols": [name], "targetPrefix": SHAPE_NAMES[service]}
    return model


def _without_traits(model: Any) -> Any:
    """Returns a copy without the traits that rename members or move members out of the body."""
    if isinstance(model, list):
        return [_without_traits(item) for item in model]
    if not isinstance(model, dict):
        return model
    is_reference = "shape" in model
    kept = {name: value for name, value in model.items() if not (is_reference and name in _TRAITS_OF_OTHER_PROTOCOLS)}
    return {name: _without_traits(value) for name, value in kept.items()}


class Cbor(Loader):  # type: ignore[misc]  # botocore has no types
    def load_service_model(self, service_name: str, type_name: str, api_version: str | None = None) -> Any:
        model = super().load_service_model(service_name, type_name, api_version)
        return use_cbor(model, service_name) if type_name == "service-2" and service_name in SHAPE_NAMES else model


@cache
def _session(service: str, protocol: str) -> Any:
    session = botocore.session.Session()
    if (service, protocol) == ("sqs", "query"):
        if not QUERY_MODELS.is_dir():
            raise FileNotFoundError(f"{QUERY_MODELS} is missing: run `make setup`")
        session.register_component("data_loader", Loader(extra_search_paths=[str(QUERY_MODELS)]))
    if (service, protocol) == ("sns", "json"):
        session.register_component("data_loader", JsonSns())
    if protocol == "cbor":
        session.register_component("data_loader", Cbor())
    return session


@cache
def service_model(protocol: str, service: str = "sqs") -> Any:
    """Returns botocore's model. For SQS, the Query protocol's model is from version 1.31.80."""
    return _session(service, protocol).get_service_model(service)


def build_client(
    protocol: str,
    endpoint_url: str,
    account: str = "test",
    region: str = REGION,
    secret: str = "secret",
    service: str = "sqs",
    *,
    validates: bool = True,
) -> tuple[Any, Response]:
    """Returns a client and its last response. `account` is an access key id, which may be an account's 12 digits.

    `validates` enables botocore's validation of parameters.
    """
    client = _session(service, protocol).create_client(
        service,
        region_name=region,
        endpoint_url=endpoint_url,
        aws_access_key_id=account,
        aws_secret_access_key=secret,
        config=_CONFIG.merge(Config(parameter_validation=validates)),
    )
    assert client.meta.service_model.resolved_protocol == PROTOCOL_NAMES.get(protocol, protocol)
    last = Response()

    def note(response_dict: Any, **_: Any) -> None:
        last.status = response_dict["status_code"]
        last.headers = {name.lower(): value for name, value in response_dict["headers"].items()}
        last.body = response_dict["body"]

    client.meta.events.register(f"before-parse.{service}", note)
    return client, last
