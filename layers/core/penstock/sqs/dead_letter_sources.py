"""ListDeadLetterSourceQueues lists the queues that use a queue as their dead-letter queue."""

from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.queues import LIST_DEAD_LETTER_SOURCES

from . import validation
from .handles import check_queue
from .queues import LONGEST_PAGE, make_token, read_token
from .types import ListDeadLetterSourceQueuesRequest, ListDeadLetterSourceQueuesResult


def list_dead_letter_source_queues(
    request: ListDeadLetterSourceQueuesRequest, context: Context
) -> Operation[ListDeadLetterSourceQueuesResult]:
    """Returns the URLs of the queues whose RedrivePolicy names this queue, in pages if the request sets a page
    size."""
    arn = context.queue_arn(request.queue_url)
    validation.check_range("MaxResults", request.max_results)
    yield from check_queue(arn)
    limit = request.max_results or LONGEST_PAGE
    rows = yield from Call(LIST_DEAD_LETTER_SOURCES, (arn, read_token(request.next_token), limit + 1))
    names = [row.name for row in rows[:limit]]
    more = len(rows) > limit and request.max_results is not None
    region, account_id = arn.split(":")[3:5]  # the sources have the same region and account
    return ListDeadLetterSourceQueuesResult(
        queue_urls=[context.queue_url(name, account_id, region) for name in names],
        next_token=make_token(names[-1]) if more else None,
    )
