"""Tests of QUEUE_ACCESS in both deployments and both protocols.

The sources are the SQS API reference, "Common Errors", and the SQS Developer Guide, "Overview of managing access" and
"Basic examples of Amazon SQS policies". docs/operate/access.md defines the mode `presence`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.support import client_setup
from tests.support.conformance.access_keys import OWNER, PARTNER, PRESENCE, SIGV4, allow, new_key, revoke
from tests.support.conformance.requests import Raw, error, refused
from tests.support.conformance.sqs import Sqs
from tests.support.database import Database


@pytest.fixture
def owner(sqs: Sqs, keys: dict[str, tuple[str, str]]) -> Sqs:
    return sqs.with_settings(SIGV4).with_key(*keys[OWNER])


@pytest.fixture
def partner(sqs: Sqs, keys: dict[str, tuple[str, str]]) -> Sqs:
    return sqs.with_settings(SIGV4).with_key(*keys[PARTNER])


# --- signatures ------------------------------------------------------------------------------------------------------
def test_a_signed_message_goes_through(owner: Sqs) -> None:
    url = owner.create()
    owner.send(url, "signed ü & +")
    message = owner.receive_one(url)
    assert message["Body"] == "signed ü & +"
    owner.delete(url, message)
    batch = [{"Id": str(number), "MessageBody": "b"} for number in range(10)]
    assert len(owner.client.send_message_batch(QueueUrl=url, Entries=batch)["Successful"]) == 10
    assert url in owner.client.list_queues(QueueNamePrefix=url.rpartition("/")[2])["QueueUrls"]


def test_a_signed_message_of_a_mib_is_written_with_escapes(owner: Sqs) -> None:
    """The request is 3 MiB long."""
    url, body = owner.create(), "ü" * 524_288
    owner.send(url, body)
    assert owner.receive_one(url)["Body"] == body


def test_the_account_is_the_keys(partner: Sqs) -> None:
    assert partner.arn(partner.create()).split(":")[4] == PARTNER


def test_an_account_id_is_no_key(sqs: Sqs) -> None:
    refusal = sqs.with_settings(SIGV4).caller(account=OWNER).refusal("list_queues")
    assert (refusal.code, refusal.status) == ("InvalidClientTokenId", 403)


def test_another_secret(owner: Sqs) -> None:
    refusal = owner.with_key(owner.account, "not the secret").refusal("list_queues")
    assert (refusal.code, refusal.status, refusal.fault) == ("SignatureDoesNotMatch", 403, "Sender")
    assert refusal.type in {None, "SignatureDoesNotMatch"}


def test_a_revoked_key(sqs: Sqs, installation: Database) -> None:
    key_id, secret = new_key(installation, OWNER)
    caller = sqs.with_settings(SIGV4).with_key(key_id, secret)
    caller.client.list_queues()
    revoke(installation, key_id)
    assert caller.code("list_queues") == "InvalidClientTokenId"


@pytest.mark.parametrize("sqs", ["container-query", "lambda-query"], indirect=True)
def test_a_presigned_address(owner: Sqs) -> None:
    """Only the Query protocol has presigned URLs, because a presigned URL contains the whole request. AWS JSON needs a
    header, which a URL cannot contain.
    """
    url = owner.create()
    parameters = {"QueueUrl": url, "MessageBody": "by address ü+ &"}
    client = owner.client
    by_post = client.generate_presigned_url("send_message", Params=parameters, ExpiresIn=60)
    address = client.generate_presigned_url("send_message", Params=parameters, ExpiresIn=60, HttpMethod="GET")
    changed = urlunsplit(urlsplit(address)._replace(query=urlsplit(address).query.replace("address", "nobody")))
    assert error(client_setup.get(changed)) == refused("SignatureDoesNotMatch", 403)
    assert error(client_setup.post(address)) == refused("SignatureDoesNotMatch", 403)
    assert error(client_setup.post(by_post, content=b"DelaySeconds=9")) == refused("SignatureDoesNotMatch", 403)
    assert [client_setup.get(address).status_code, client_setup.post(by_post).status_code] == [200, 200]
    assert [message["Body"] for message in owner.receive(url, 2)] == ["by address ü+ &"] * 2


@pytest.mark.parametrize("settings", [SIGV4, PRESENCE], ids=["sigv4", "presence"])
def test_without_credentials(raw: Raw, settings: dict[str, str]) -> None:
    """A caller without credentials sees only the error about the credentials."""
    deployment = raw._replace(sqs=raw.sqs.with_settings(settings))
    missing = refused("MissingAuthenticationToken", 403)
    assert error(deployment.json("ListQueues", {})) == missing
    assert error(deployment.json("NoSuchAction", b"not json")) == missing
    assert error(deployment.query({"Action": "ListQueues"})) == missing
    assert error(deployment.cbor("ListQueues", {})) == missing
    assert error(deployment.cbor("NoSuchAction", b"not CBOR")) == missing
    assert error(deployment.get("/", "Action=ListQueues")) == missing


def test_a_signature_that_is_not_whole(raw: Raw) -> None:
    deployment = raw._replace(sqs=raw.sqs.with_settings(SIGV4))
    for ask in (deployment.json, deployment.cbor):
        response = ask("ListQueues", {}, authorization="AWS4-HMAC-SHA256 Credential=x")
        assert error(response) == refused("IncompleteSignature")


def test_any_credentials_are_present(sqs: Sqs) -> None:
    caller = sqs.with_settings(PRESENCE)
    url = caller.create()
    caller.send(url)
    assert caller.receive_one(url)["Body"] == "body"


# --- other accounts --------------------------------------------------------------------------------------------------
def test_a_stranger_is_let_in_by_the_policy_alone(owner: Sqs, partner: Sqs) -> None:
    url = owner.create()
    refusal = partner.refusal("send_message", QueueUrl=url, MessageBody="b")
    assert (refusal.code, refusal.status) == ("AccessDenied", 403)
    assert refusal.type in {None, "AccessDeniedException"}
    allow(owner, url, "SQS:Send*")
    partner.send(url, "allowed")
    partner.client.send_message_batch(QueueUrl=url, Entries=[{"Id": "1", "MessageBody": "allowed"}])
    assert [message["Body"] for message in owner.receive(url, 2)] == ["allowed", "allowed"]
    assert partner.code("receive_message", QueueUrl=url) == "AccessDenied"


def test_a_permission_is_enough(owner: Sqs, partner: Sqs) -> None:
    url = owner.create()
    name = url.rpartition("/")[2]
    assert partner.code("get_queue_url", QueueName=name, QueueOwnerAWSAccountId=OWNER) == "AccessDenied"
    actions = ["GetQueueUrl", "ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes"]
    owner.client.add_permission(QueueUrl=url, Label="partner", AWSAccountIds=[PARTNER], Actions=actions)
    owner.send(url)
    assert partner.client.get_queue_url(QueueName=name, QueueOwnerAWSAccountId=OWNER)["QueueUrl"] == url
    message = partner.receive_one(url)
    partner.hide(url, message, 60)
    partner.delete(url, message)
    assert partner.counts(url) == (0, 0, 0)
    owner.client.remove_permission(QueueUrl=url, Label="partner")
    assert partner.code("receive_message", QueueUrl=url) == "AccessDenied"


def test_a_queue_that_is_not_there_is_denied_alike(owner: Sqs, partner: Sqs) -> None:
    url = owner.create()
    owner.client.delete_queue(QueueUrl=url)
    assert partner.code("receive_message", QueueUrl=url) == "AccessDenied"
    assert owner.code("receive_message", QueueUrl=url) == "AWS.SimpleQueueService.NonExistentQueue"


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("delete_queue", {}),
        ("set_queue_attributes", {"Attributes": {"DelaySeconds": "1"}}),
        ("add_permission", {"Label": "l", "AWSAccountIds": [PARTNER], "Actions": ["*"]}),
        ("remove_permission", {"Label": "l"}),
        ("tag_queue", {"Tags": {"a": "b"}}),
        ("untag_queue", {"TagKeys": ["a"]}),
        ("list_queue_tags", {}),
    ],
)
def test_only_the_owner_may_call_these_actions(
    owner: Sqs, partner: Sqs, method: str, parameters: dict[str, Any]
) -> None:
    """Cross-account permissions do not apply to the actions in this test (Developer Guide)."""
    url = owner.create()
    allow(owner, url, "sqs:*", principal="*")
    partner.send(url)
    assert partner.code(method, QueueUrl=url, **parameters) == "AccessDenied"


def test_a_deny_holds_for_the_owner_too(owner: Sqs, partner: Sqs) -> None:
    url = owner.create()
    allow(owner, url, "sqs:SendMessage", effect="Deny", principal="*")
    for caller in (owner, partner):
        assert caller.code("send_message", QueueUrl=url, MessageBody="b") == "AccessDenied"
    entries = [{"Id": "1", "MessageBody": "b"}]
    assert owner.code("send_message_batch", QueueUrl=url, Entries=entries) == "AccessDenied"
    owner.client.receive_message(QueueUrl=url)


def test_a_deny_for_everybody_can_be_mended_by_the_owner_alone(owner: Sqs, partner: Sqs) -> None:
    """On AWS the root user can edit a policy that denies all principals ("AWS actions for project owners")."""
    url = owner.create()
    allow(owner, url, "sqs:*", effect="Deny", principal="*")
    for method in ("receive_message", "delete_queue", "purge_queue", "list_queue_tags"):
        assert owner.code(method, QueueUrl=url) == "AccessDenied"
    mended = {"QueueUrl": url, "Attributes": {"Policy": ""}}
    assert partner.code("set_queue_attributes", **mended) == "AccessDenied"
    assert json.loads(owner.attributes(url, "Policy")["Policy"])["Statement"][0]["Effect"] == "Deny"
    owner.client.set_queue_attributes(**mended)
    owner.send(url)
    assert owner.receive_one(url)["Body"] == "body"


# --- sts -------------------------------------------------------------------------------------------------------------
# Tests of STS. SDKs request credentials from STS at Penstock if AWS_ENDPOINT_URL is Penstock's address.
#
# The sources are the actions' pages of the STS API reference and botocore's model. Penstock chose that the returned
# credentials stand for the account of the caller, and that the service refuses these actions if it uses access keys.
ROLE = {"RoleArn": "arn:aws:iam::111122223333:role/worker", "RoleSessionName": "one"}
TOKENS: tuple[tuple[str, dict[str, str]], ...] = (
    ("get_session_token", {}),
    ("assume_role", ROLE),
    ("assume_role_with_web_identity", {**ROLE, "WebIdentityToken": "eyJ0"}),
)


def client(sqs: Sqs, service: str, **credentials: str) -> Any:
    session = botocore.session.Session()
    if credentials:
        session.set_credentials(credentials["AccessKeyId"], credentials["SecretAccessKey"], credentials["SessionToken"])
    else:
        session.set_credentials(sqs.account, sqs.secret)
    unchecked = Config(parameter_validation=False)
    return session.create_client(service, sqs.region, endpoint_url=sqs.endpoint_url, config=unchecked)


@pytest.mark.parametrize("sqs", ["container-json", "lambda-json"], indirect=True)
@pytest.mark.parametrize(("key", "account"), [("test", "000000000000"), ("111122223333", "111122223333")])
def test_get_caller_identity_names_the_user(sqs: Sqs, key: str, account: str) -> None:
    response = client(sqs.caller(account=key), "sts").get_caller_identity()
    assert (response["Account"], response["UserId"]) == (account, key)
    assert response["Arn"] == f"arn:aws:iam::{account}:user/{key}"


@pytest.mark.parametrize("sqs", ["container-json", "lambda-json"], indirect=True)
@pytest.mark.parametrize(("method", "parameters"), TOKENS)
def test_credentials_mean_the_caller(sqs: Sqs, method: str, parameters: dict[str, str]) -> None:
    caller = sqs.caller(account="111122223333")
    response = getattr(client(caller, "sts"), method)(**parameters, DurationSeconds=900)
    given = response["Credentials"]
    seconds = (given.pop("Expiration") - sqs.clock.now()).total_seconds()
    assert seconds <= 900
    found = client(sqs, "sts", **given).get_caller_identity()["Account"]
    signed = method != "assume_role_with_web_identity"
    assert found == ("111122223333" if signed else "000000000000")
    url = client(sqs, "sqs", **given).create_queue(QueueName=sqs.name())["QueueUrl"]
    assert f"/{found}/" in url
    if parameters:
        assert response["AssumedRoleUser"]["Arn"] == f"arn:aws:sts::{found}:assumed-role/worker/one"


@pytest.mark.parametrize("sqs", ["container-json", "lambda-json"], indirect=True)
@pytest.mark.parametrize("method", ["get_federation_token", "get_scoped_credentials", "get_web_identity_token"])
def test_the_other_actions_of_sts_are_unknown(sqs: Sqs, method: str) -> None:
    """ "Common Errors" (STS API reference)."""
    with pytest.raises(ClientError) as caught:
        getattr(client(sqs, "sts"), method)()
    assert caught.value.response["Error"]["Code"] == "InvalidAction"


@pytest.mark.parametrize("sqs", ["container-json", "lambda-json"], indirect=True)
def test_a_profile_of_a_role(sqs: Sqs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on EKS, botocore sends STS a request before its first request to SQS."""
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


@pytest.mark.parametrize("sqs", ["container-json", "lambda-json"], indirect=True)
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
    """botocore's model defines the limits, and AWS's services return this text."""
    with pytest.raises(ClientError) as caught:
        getattr(client(sqs, "sts"), method)(**parameters, DurationSeconds=seconds)
    error = caught.value.response["Error"]
    assert error["Code"] == "ValidationError"
    assert error["Message"] == (
        f"1 validation error detected: Value '{seconds}' at 'durationSeconds' failed to satisfy constraint: "
        f"Member must have value {limit}"
    )


@pytest.mark.parametrize("sqs", ["container-json", "lambda-json"], indirect=True)
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


@pytest.mark.parametrize("sqs", ["container-json", "lambda-json"], indirect=True)
def test_with_access_keys(sqs: Sqs, keys: dict[str, tuple[str, str]]) -> None:
    """The response contains the caller's account and ARN. Penstock has no roles and no tokens, and the error names the
    setting to use instead.
    """
    owner = sqs.with_settings(SIGV4).with_key(*keys[OWNER])
    response = client(owner, "sts").get_caller_identity()
    response.pop("ResponseMetadata")
    # These are the values for a root user ("GetCallerIdentity", API reference, and "IAM policy variables", the value of
    # aws:userid).
    assert response == {"Account": OWNER, "UserId": OWNER, "Arn": f"arn:aws:iam::{OWNER}:root"}
    for method, parameters in TOKENS:
        with pytest.raises(ClientError) as caught:
            getattr(client(owner, "sts"), method)(**parameters)
        error = caught.value.response["Error"]
        assert error["Code"] == "AccessDenied"
        assert "AWS_ENDPOINT_URL_SQS" in error["Message"]
    with pytest.raises(ClientError) as caught:
        client(owner.with_key(owner.account, "not the secret"), "sts").get_caller_identity()
    assert caught.value.response["Error"]["Code"] == "SignatureDoesNotMatch"
