"""Moves messages for message move tasks. A schedule invokes it every minute, and it polls until the next invocation."""

from penstock.lambda_runtime.scheduled import make_polling_handler
from penstock.workers import move

handler = make_polling_handler(move)
