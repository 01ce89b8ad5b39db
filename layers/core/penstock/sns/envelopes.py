"""Creates the signer of messages to subscribers, and the messages that confirm a subscription or its end."""

from uuid import uuid4

from penstock.aws.sns_arn import TopicArn
from penstock.context import Context
from penstock.effects import Operation

from . import notification
from .signatures import Signer
from .signing_keys import find_signer
from .topics import describe_topic, read_stored_attributes


def build_certificate_url(signer: Signer, context: Context) -> str:
    """Returns the URL of the signer's certificate, at SNS_CERT_HOST, or at this service if SNS_CERT_HOST is empty."""
    host = context.environment.settings.sns_cert_host
    return (f"https://{host}" if host else context.link_base_url) + signer.certificate_path


def build_signing_context(version: str, context: Context) -> Operation[notification.SigningContext]:
    """Returns the signer, and the base of links."""
    key = yield from find_signer(context)
    return notification.SigningContext(key, version, context.link_base_url, build_certificate_url(key, context))


def build_confirmation(topic: TopicArn, token: str, context: Context) -> Operation[str]:
    """Returns the message that requests an endpoint's confirmation. Raises NotFound."""
    signing = yield from find_signing_context(topic, context)
    return notification.build_confirmation(signing, str(topic), str(uuid4()), token, notification.format_timestamp())


def unsubscribe_confirmation(topic: TopicArn, subscription_arn: str, token: str, context: Context) -> Operation[str]:
    """Returns the message that tells an endpoint that its subscription was deleted. Raises NotFound."""
    signing = yield from find_signing_context(topic, context)
    about = (str(topic), subscription_arn, str(uuid4()), token)
    return notification.unsubscribe_confirmation(signing, *about, notification.format_timestamp())


def find_signing_context(topic: TopicArn, context: Context) -> Operation[notification.SigningContext]:
    """Reads the topic's signature version from the database. Returns the version's signing context.

    These messages are rare, and no later call checks the version.
    """
    attributes = read_stored_attributes((yield from describe_topic(topic)))
    return (yield from build_signing_context(attributes.get("SignatureVersion", "1"), context))
