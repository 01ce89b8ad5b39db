"""Tests of STS: SDKs ask it for credentials if AWS_ENDPOINT_URL names Penstock for every service.

Sources: the actions' pages of the STS API reference and botocore's model. The meaning of the credentials and the
refusal with access keys are our choice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.support.conformance.access_keys import OWNER, SIGV4
from tests.support.conformance.sqs import Sqs

ROLE = {"RoleArn": "arn:aws:iam::111122223333:role/worker", "RoleSessionName": "one"}
TOKENS: tuple[tuple[str, dict[str, str]], ...] = (
    ("get_session_token", {}),
    ("assume_role", ROLE),
    ("assume_role_with_web_identity", {**ROLE, "WebIdentityToken": "eyJ0"}),
)

pytestmark = pytest.mark.parametrize("sqs", ["container-json", "lambda-json"], indirect=True)


def client(sqs: Sqs, service: str, **credentials: str) -> Any:
    session = botocore.session.Session()
    if credentials:
        session.set_credentials(credentials["AccessKeyId"], credentials["SecretAccessKey"], credentials["SessionToken"])
    else:
        session.set_credentials(sqs.account, sqs.secret)
    unchecked = Config(parameter_validation=False)
    return session.create_client(service, sqs.region, endpoint_url=sqs.endpoint_url, config=unchecked)


@pytest.mark.parametrize(("key", "account"), [("test", "000000000000"), ("111122223333", "111122223333")])
def test_get_caller_identity_names_the_user(sqs: Sqs, key: str, account: str) -> None:
    answer = client(sqs.caller(account=key), "sts").get_caller_identity()
    assert (answer["Account"], answer["UserId"]) == (account, key)
    assert answer["Arn"] == f"arn:aws:iam::{account}:user/{key}"


@pytest.mark.parametrize(("method", "parameters"), TOKENS)
def test_credentials_mean_the_caller(sqs: Sqs, method: str, parameters: dict[str, str]) -> None:
    caller = sqs.caller(account="111122223333")
    answer = getattr(client(caller, "sts"), method)(**parameters, DurationSeconds=900)
    given = answer["Credentials"]
    seconds = (given.pop("Expiration") - sqs.clock.now()).total_seconds()
    assert seconds <= 900
    found = client(sqs, "sts", **given).get_caller_identity()["Account"]
    signed = method != "assume_role_with_web_identity"
    assert found == ("111122223333" if signed else "000000000000")
    url = client(sqs, "sqs", **given).create_queue(QueueName=sqs.name())["QueueUrl"]
    assert f"/{found}/" in url
    if parameters:
        assert answer["AssumedRoleUser"]["Arn"] == f"arn:aws:sts::{found}:assumed-role/worker/one"


def test_a_profile_of_a_role(sqs: Sqs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on EKS, botocore asks STS before its first request to SQS."""
    token = tmp_path / "token"
    token.write_text("eyJ0")
    for name, value in {
        "AWS_ROLE_ARN": ROLE["RoleArn"], "AWS_WEB_IDENTITY_TOKEN_FILE": str(token),
        "AWS_ENDPOINT_URL": sqs.endpoint_url, "AWS_REGION": sqs.region, "AWS_CONFIG_FILE": str(tmp_path / "none"),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    queues = botocore.session.Session().create_client("sqs", region_name=sqs.region)
    assert queues.list_queues(QueueNamePrefix="none")["ResponseMetadata"]["HTTPStatusCode"] == 200


@pytest.mark.parametrize(
    ("method", "parameters", "seconds", "limit"),
    [
        ("get_session_token", {}, 899, "greater than or equal to 900"),
        ("get_session_token", {}, 129_601, "less than or equal to 129600"),
        ("assume_role", ROLE, 43_201, "less than or equal to 43200"),
        ("assume_role_with_web_identity", {**ROLE, "WebIdentityToken": "eyJ0"}, 899, "greater than or equal to 900"),
    ],
)
def test_a_duration_that_cannot_be(sqs: Sqs, method: str, parameters: dict[str, str], seconds: int, limit: str) -> None:
    """The limits come from botocore's model, the text from AWS's services."""
    with pytest.raises(ClientError) as caught:
        getattr(client(sqs, "sts"), method)(**parameters, DurationSeconds=seconds)
    error = caught.value.response["Error"]
    assert error["Code"] == "ValidationError"
    assert error["Message"] == (
        f"1 validation error detected: Value '{seconds}' at 'durationSeconds' failed to satisfy constraint: "
        f"Member must have value {limit}"
    )


@pytest.mark.parametrize(
    ("parameters", "shown"),
    [
        ({"RoleArn": ROLE["RoleArn"]}, "null at 'roleSessionName'"),
        ({**ROLE, "RoleArn": "r"}, "'r' at 'roleArn'"),
        ({**ROLE, "RoleSessionName": "a b"}, "'a b' at 'roleSessionName'"),
    ],
)
def test_members_that_cannot_be(sqs: Sqs, parameters: dict[str, str], shown: str) -> None:
    """The limits come from botocore's model."""
    with pytest.raises(ClientError) as caught:
        client(sqs, "sts").assume_role(**parameters)
    error = caught.value.response["Error"]
    assert error["Code"] == "ValidationError"
    assert error["Message"].startswith(f"1 validation error detected: Value {shown} failed to satisfy")


def test_with_access_keys(sqs: Sqs, keys: dict[str, tuple[str, str]]) -> None:
    """The answer names the caller. Roles and tokens do not exist, and the error names the setting to use."""
    owner = sqs.with_settings(SIGV4).with_key(*keys[OWNER])
    answer = client(owner, "sts").get_caller_identity()
    answer.pop("ResponseMetadata")
    # The values of a root user ("GetCallerIdentity", API reference, and "IAM policy variables", the value of
    # aws:userid).
    assert answer == {"Account": OWNER, "UserId": OWNER, "Arn": f"arn:aws:iam::{OWNER}:root"}
    for method, parameters in TOKENS:
        with pytest.raises(ClientError) as caught:
            getattr(client(owner, "sts"), method)(**parameters)
        error = caught.value.response["Error"]
        assert error["Code"] == "AccessDenied"
        assert "AWS_ENDPOINT_URL_SQS" in error["Message"]
    with pytest.raises(ClientError) as caught:
        client(owner.with_key(owner.account, "not the secret"), "sts").get_caller_identity()
    assert caught.value.response["Error"]["Code"] == "SignatureDoesNotMatch"
