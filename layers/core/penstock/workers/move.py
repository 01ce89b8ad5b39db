"""Moves messages for message move tasks in steps, each of which is a transaction.

A run ends when no task is running, or when its time is over. Any worker continues where another worker stopped.
Several workers share the tasks. A task's rate limits all workers together, because the database counts the moved
messages.
"""

from time import monotonic, sleep
from uuid import UUID

import psycopg

from penstock.postgres.psycopg_connection import TransactionExecutor
from penstock.postgres.statement import Row
from penstock.postgres.statements.move_tasks import RUN_MOVE_TASK, RUNNING_MOVE_TASKS
from penstock.settings import Settings

from . import Counts

MAX_RUN_SECONDS = 1.5
MOVE_TASKS = "move-tasks"
"""The name that NOTIFY has for tasks, in place of a queue's ARN (queue.start_move_task)."""
MESSAGES_PER_STEP = 100
PAUSE_SECONDS = 0.1
"""The pause while no message can move, because each task has used up its rate, or because other transactions lock the
messages."""


def run_once(
    settings: Settings,  # noqa: ARG001 - as every worker
    connection: "psycopg.Connection[Row]",
    longest_run_seconds: float = MAX_RUN_SECONDS,
) -> Counts:
    """Does one bounded run on an autocommit connection. Raises psycopg.Error, but earlier steps stay committed."""
    deadline = monotonic() + longest_run_seconds
    steps = messages = 0
    calls = TransactionExecutor(connection)
    while monotonic() < deadline and (tasks := calls.call(RUNNING_MOVE_TASKS, ())):
        before = messages
        for task in tasks:
            messages += step(calls, task.task_id)
            steps += 1
            if monotonic() >= deadline:
                break
        if messages == before:
            sleep(PAUSE_SECONDS)
    return {"steps": steps, "messages": messages}


def poll_seconds(settings: Settings) -> float:
    """Returns the pause between two runs of a polling function."""
    return settings.queue_move_interval_ms / 1000


def step(calls: TransactionExecutor, task_id: UUID) -> int:
    """Runs one step. Returns the number of moved messages, or 0 if another worker has locked the task."""
    return sum(row.moved for row in calls.call(RUN_MOVE_TASK, (task_id, MESSAGES_PER_STEP)))
