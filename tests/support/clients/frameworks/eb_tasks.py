"""Tasks of django-eb-sqs, imported by the worker, and run to send them. Environment: RESULTS, and that of boto3."""

from __future__ import annotations

import django
from eb_sqs.decorators import task

from tests.support.clients.task_results import note


@task()
def add(a: int, b: int) -> None:
    note("add", a, b, a + b)


@task(queue_name="eb-other")
def succeed_at_third(text: str) -> None:
    note("attempt", text, succeed_at_third.retry_num)
    if succeed_at_third.retry_num != 2:
        succeed_at_third.retry(delay=1)


def send() -> None:
    """Sends what the test expects the worker to do; queues that are not there are made."""
    # By the name that the worker imports.
    from tests.support.clients.frameworks import eb_tasks

    for number in range(5):
        eb_tasks.add.delay(number, 10)
    eb_tasks.succeed_at_third.delay("grüße")


if __name__ == "__main__":
    django.setup()
    send()
