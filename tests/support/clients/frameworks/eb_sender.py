"""Sends the tasks for the worker of django-eb-sqs. The sender creates missing queues."""

from __future__ import annotations

import django

from tests.support.clients.frameworks.eb_tasks import add, succeed_at_third

if __name__ == "__main__":
    django.setup()
    for number in range(5):
        add.delay(number, 10)
    succeed_at_third.delay("grüße")
