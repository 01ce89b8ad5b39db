"""What each route of the console asks the policies of who calls, by the name of its function.

A route that is not listed cannot be made. Actions on the queue that the path names ask for that queue, others for `*`.
"""

from typing import Final, NamedTuple


class Right(NamedTuple):
    """`actions`: all of them must be allowed; none: whoever is signed in. `is_public`: nobody is asked who he is."""

    actions: tuple[str, ...] = ()
    of_queue: bool = False
    is_public: bool = False


PUBLIC: Final = Right(is_public=True)
SIGNED_IN: Final = Right()


def _of_queue(*actions: str) -> Right:
    return Right(actions, of_queue=True)


RIGHTS: Final[dict[str, Right]] = {
    "root": PUBLIC,
    "asset": PUBLIC,
    "sign_in_page": PUBLIC,
    "sign_in": PUBLIC,
    "sign_out": SIGNED_IN,
    "no_page": SIGNED_IN,
    "overview": Right(("sqs:ListQueues", "penstock:GetLag")),
    "queues": Right(("sqs:ListQueues", "penstock:GetLag")),
    "create": Right(("sqs:CreateQueue",)),
    "queue": _of_queue("sqs:GetQueueAttributes", "penstock:GetQueueMetrics"),
    "purge": _of_queue("sqs:PurgeQueue"),
    "delete": _of_queue("sqs:DeleteQueue"),
    "messages": _of_queue("sqs:ReceiveMessage"),
    "message": _of_queue("sqs:ReceiveMessage"),
    "delete_messages": _of_queue("sqs:DeleteMessage"),
    "send_form": _of_queue("sqs:SendMessage"),
    "send": _of_queue("sqs:SendMessage"),
}
