"""Addresses alerts. The URL and PagerDuty's key are secret, so only the worker that sends an alert knows them."""

import json
from typing import Final

from penstock.delivery.delivery import Delivery
from penstock.endpoint import EndpointInvalid
from penstock.settings.alert_url import parse_alert_url

ROUTING_KEY: Final = "penstock-routing-key"
"""The value of `routing_key` that stands for PagerDuty's key in a stored body."""


def address_alert(delivery: Delivery) -> tuple[Delivery, str]:
    """Returns the delivery with its body for the server, and the URL of the POST. Raises EndpointInvalid."""
    if delivery.password is None:
        raise EndpointInvalid("the account no longer has this address for alerts")
    try:
        address = parse_alert_url(delivery.password)
    except ValueError as error:
        raise EndpointInvalid(str(error)) from None
    body = delivery.body.replace(json.dumps(ROUTING_KEY), json.dumps(address.key), 1)
    return delivery._replace(body=body, password=None), address.url
