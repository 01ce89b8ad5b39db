"""Serves django-anymail's tracking webhook for Amazon SES. The webhook requires a user and a password, and confirms the
subscription with boto3.

The argument is Penstock's address. The program prints its port, and then a line of JSON for each mail event.
"""

import json
import sys
from typing import Any
from wsgiref.simple_server import make_server

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import include, path

urlpatterns = [path("anymail/", include("anymail.urls"))]


def main(address: str) -> None:
    settings.configure(
        ALLOWED_HOSTS=["127.0.0.1"],
        ANYMAIL={
            "WEBHOOK_SECRET": "max:geh/heim",
            "AMAZON_SES_CLIENT_PARAMS": {"endpoint_url": address, "region_name": "us-east-1"},
        },
        INSTALLED_APPS=["anymail"],
        ROOT_URLCONF=__name__,
        SECRET_KEY="x",
    )
    django.setup()
    from anymail.signals import tracking

    def tell(event: Any, **_: object) -> None:
        print(json.dumps([event.event_type, event.recipient, event.message_id]), flush=True)  # noqa: T201

    tracking.connect(tell, weak=False)
    server = make_server("127.0.0.1", 0, get_wsgi_application())
    print(server.server_port, flush=True)  # noqa: T201
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
