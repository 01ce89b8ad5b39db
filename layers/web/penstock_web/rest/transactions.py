"""Serves /v1/transactions."""

from penstock import errors
from penstock.management import transactions
from penstock.management.errors import StaleReceipt
from penstock.management.rights import right_of
from penstock.management.transactions import Transaction, TransactionResult
from penstock_web.routing.routes import Routes, Runner

routes = Routes("transactions")


@routes.post(
    "/transactions",
    right=right_of(transactions.run_transaction),
    body=Transaction,
    response=TransactionResult,
    raises=(errors.QueueDoesNotExist, errors.ReceiptHandleIsInvalid, StaleReceipt),
)
async def transact(runner: Runner) -> TransactionResult:
    """Acknowledge messages, send messages and publish messages in one transaction. The whole transaction fails with 409
    if a receipt is no longer valid."""
    transaction = await runner.read(transactions.read_transaction)
    return await runner.run(transactions.run_transaction(transaction, runner.context))
