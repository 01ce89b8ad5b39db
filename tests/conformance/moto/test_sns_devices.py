"""moto as a second voice on platform applications, endpoints and text messages; how is in test_sqs.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.moto.test_sqs import Case, outcome, outcome_of_moto
from tests.support.conformance.sns import Sns

SECRET = {"PlatformCredential": "secret", "PlatformPrincipal": "principal"}
NOBODY = "00000000-0000-4000-8000-000000000000"


# --- what is done ----------------------------------------------------------------------------------------------------
def application(sns: Any, name: str, platform: str = "GCM", **attributes: str) -> str:
    made = sns.create_platform_application(Name=name, Platform=platform, Attributes=SECRET | attributes)
    return str(made["PlatformApplicationArn"])


def create(suffix: str = "", platform: str = "GCM", **attributes: str) -> Callable[[Any, str], None]:
    def action(sns: Any, name: str) -> None:
        application(sns, name + suffix, platform, **attributes)

    return action


def create_again(**attributes: str) -> Callable[[Any, str], None]:
    def action(sns: Any, name: str) -> None:
        application(sns, name)
        application(sns, name, **attributes)

    return action


def on_application(method: str, *, missing: bool = False, **parameters: Any) -> Callable[[Any, str], None]:
    """A call about a new platform application, or about none."""

    def action(sns: Any, name: str) -> None:
        arn = application(sns, name)
        getattr(sns, method)(PlatformApplicationArn=f"{arn}-none" if missing else arn, **parameters)

    return action


def endpoint(sns: Any, name: str, token: str = "token", **more: Any) -> str:
    made = sns.create_platform_endpoint(PlatformApplicationArn=application(sns, name), Token=token, **more)
    return str(made["EndpointArn"])


def register(**parameters: Any) -> Callable[[Any, str], None]:
    return on_application("create_platform_endpoint", **{"Token": "token", **parameters})


def register_twice(first: dict[str, Any], second: dict[str, Any]) -> Callable[[Any, str], None]:
    def action(sns: Any, name: str) -> None:
        arn = application(sns, name)
        for more in (first, second):
            sns.create_platform_endpoint(PlatformApplicationArn=arn, Token="token", **more)

    return action


def on_endpoint(method: str, *, missing: bool = False, **parameters: Any) -> Callable[[Any, str], None]:
    """A call about a new endpoint, or about none."""

    def action(sns: Any, name: str) -> None:
        arn = endpoint(sns, name)
        getattr(sns, method)(EndpointArn=f"{arn[:-36]}{NOBODY}" if missing else arn, **parameters)

    return action


def push(**attributes: str) -> Callable[[Any, str], None]:
    """Publishes to an endpoint with these attributes."""

    def action(sns: Any, name: str) -> None:
        sns.publish(TargetArn=endpoint(sns, name, Attributes=attributes), Message="m")

    return action


def push_after(method: str) -> Callable[[Any, str], None]:
    """Publishes to an endpoint after a call about it."""

    def action(sns: Any, name: str) -> None:
        arn = endpoint(sns, name)
        getattr(sns, method)(EndpointArn=arn)
        sns.publish(TargetArn=arn, Message="m")

    return action


def twice(method: str, member: str, make: Callable[[Any, str], str]) -> Callable[[Any, str], None]:
    def action(sns: Any, name: str) -> None:
        arn = make(sns, name)
        for _ in range(2):
            getattr(sns, method)(**{member: arn})

    return action


def register_at_a_deleted_application(sns: Any, name: str) -> None:
    arn = application(sns, name)
    sns.delete_platform_application(PlatformApplicationArn=arn)
    sns.create_platform_endpoint(PlatformApplicationArn=arn, Token="token")


def call(method: str, **parameters: Any) -> Callable[[Any, str], None]:
    return lambda sns, name: getattr(sns, method)(**parameters)


def set_sms(**attributes: str) -> Callable[[Any, str], None]:
    return call("set_sms_attributes", attributes=attributes)


SETS_ANYTHING = (
    "moto keeps any attribute (model: InvalidParameterException; SetSMSAttributes lists names and values)"
)
BREAKS = "moto breaks at it; DeletePlatformApplication names no error for an application that is gone"
SANDBOX = "moto knows no SMS sandbox"
CASES = (
    Case("create", create()),
    Case("create again", create_again()),
    Case("create again with another attribute", create_again(SuccessFeedbackSampleRate="1"),
         "ok", "moto replaces it (CreatePlatformEndpoint's rule, reports of users: different attributes are refused)"),
    Case("create for an unknown service", create(platform="PIGEON"),
         "ok", "moto does not look at Platform (CreatePlatformApplication: a supported service)"),
    Case("create a bad name", create(" x"),
         "ok", "moto does not look at Name (CreatePlatformApplication: letters, digits and _-.)"),
    Case("create a long name", create("x" * 256),
         "ok", "moto does not look at Name (CreatePlatformApplication: 1 to 256 characters)"),
    Case("create with an unknown attribute", create(Colour="red"),
         "ok", "moto keeps any attribute (model: InvalidParameterException)"),
    Case("attributes", on_application("get_platform_application_attributes")),
    Case("attributes of none", on_application("get_platform_application_attributes", missing=True)),
    Case("change", on_application("set_platform_application_attributes", Attributes={"Enabled": "false"})),
    Case("change none", on_application(
        "set_platform_application_attributes", missing=True, Attributes={"Enabled": "false"})),
    Case("applications", call("list_platform_applications")),
    Case("delete", on_application("delete_platform_application")),
    Case("delete none", on_application("delete_platform_application", missing=True), "not implemented", BREAKS),
    Case("delete twice", twice("delete_platform_application", "PlatformApplicationArn", application),
         "not implemented", BREAKS),
    Case("register", register()),
    Case("register with all there is", register(CustomUserData="u", Attributes={"Enabled": "false"})),
    Case("register at none", register(missing=True)),
    Case("register at a deleted application", register_at_a_deleted_application),
    Case("register twice", register_twice({}, {})),
    Case("register twice, different", register_twice({"CustomUserData": "a"}, {"CustomUserData": "b"})),
    Case("register twice, disabled", register_twice({}, {"Attributes": {"Enabled": "false"}})),
    Case("register an empty token", register(Token=""),
         "ok", "moto takes any token (CreatePlatformEndpoint: what the service gave)"),
    Case("register too much user data", register(CustomUserData="u" * 2_049),
         "ok", "moto counts no bytes (CreatePlatformEndpoint: less than 2 KB)"),
    Case("register with an unknown attribute", register(Attributes={"Colour": "red"}),
         "ok", "moto keeps any attribute (model: InvalidParameterException)"),
    Case("endpoints", on_application("list_endpoints_by_platform_application")),
    Case("endpoints of none", on_application("list_endpoints_by_platform_application", missing=True)),
    Case("endpoint", on_endpoint("get_endpoint_attributes")),
    Case("unknown endpoint", on_endpoint("get_endpoint_attributes", missing=True)),
    Case("change an endpoint", on_endpoint("set_endpoint_attributes", Attributes={"Enabled": "false"})),
    Case("change no endpoint", on_endpoint("set_endpoint_attributes", missing=True, Attributes={"Token": "t"})),
    Case("delete an endpoint", on_endpoint("delete_endpoint")),
    Case("delete no endpoint", on_endpoint("delete_endpoint", missing=True)),
    Case("delete an endpoint twice", twice("delete_endpoint", "EndpointArn", endpoint)),
    Case("push", push()),
    Case("push to a disabled endpoint", push(Enabled="false")),
    Case("push to a deleted endpoint", push_after("delete_endpoint"),
         "NotFound", "AWS: `TargetArn Reason: No endpoint found for the target arn specified`"),
    Case("attributes of text messages", call("get_sms_attributes")),
    Case("one attribute of text messages", call("get_sms_attributes", attributes=["DefaultSMSType"])),
    Case("set the type of text messages", set_sms(DefaultSMSType="Transactional")),
    Case("set an unknown type", set_sms(DefaultSMSType="Loud"), "ok", SETS_ANYTHING),
    Case("set an unknown attribute", set_sms(Colour="red"), "ok", SETS_ANYTHING),
    Case("set a limit that is no number", set_sms(MonthlySpendLimit="much"), "ok", SETS_ANYTHING),
    Case("opted out", call("check_if_phone_number_is_opted_out", phoneNumber="+15555550100")),
    Case("opted out, no number", call("check_if_phone_number_is_opted_out", phoneNumber="x")),
    Case("all that are opted out", call("list_phone_numbers_opted_out")),
    Case("opt in", call("opt_in_phone_number", phoneNumber="+15555550100")),
    Case("opt in no number", call("opt_in_phone_number", phoneNumber="x"),
         "ok", "moto does not look at the number (model: InvalidParameterException)"),
    Case("sandbox", call("get_sms_sandbox_account_status"), "not implemented", SANDBOX),
    Case("numbers of the sandbox", call("list_sms_sandbox_phone_numbers"), "not implemented", SANDBOX),
    Case("a number for the sandbox", call("create_sms_sandbox_phone_number", PhoneNumber="+15555550101"),
         "not implemented", SANDBOX),
    Case("origination numbers", call("list_origination_numbers"), "not implemented", "moto knows none"),
    Case("text to a phone", call("publish", PhoneNumber="+15555550102", Message="m")),
    Case("too long a text", call("publish", PhoneNumber="+15555550103", Message="m" * 1_601)),
)  # fmt: skip


@pytest.mark.parametrize("sqs", ["container-query"], indirect=True)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_moto_agrees(sns: Sns, case: Case) -> None:
    ours = outcome(sns.client, case, sns.sqs.name())
    assert outcome_of_moto(case, "sns") == (ours if case.moto is None else case.moto)
    assert case.moto != ours


def test_every_difference_has_a_reason() -> None:
    assert [case.name for case in CASES if bool(case.moto) != bool(case.why)] == []
