"""Defines the tasks of django-eb-sqs that the worker and the sender import. The environment contains RESULTS and
boto3's variables.
"""

from __future__ import annotations

from eb_sqs.decorators import task

from tests.support.clients.task_results import note


@task()  # type: ignore[untyped-decorator]
def add(a: int, b: int) -> None:
    note("add", a, b, a + b)


@task(queue_name="eb-other")  # type: ignore[untyped-decorator]
def succeed_at_third(text: str) -> None:
    note("attempt", text, succeed_at_third.retry_num)
    if succeed_at_third.retry_num != 2:
        succeed_at_third.retry(delay=1)
