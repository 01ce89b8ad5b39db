"""Checks the syntax of a subscriber's expressions before it is stored, as AWS does."""

from collections.abc import Mapping
from functools import partial

from msgspec import to_builtins

from penstock.context import Context
from penstock.effects import Ask, Operation
from penstock.events.errors import InternalException, InvalidInputException

from .evaluator import Evaluator, ExpressionsUnavailableError
from .protocol import Response
from .syntax import list_expressions

BEGIN = len("{%")


def check_expressions(configuration: Mapping[str, object], context: Context) -> Operation[None]:
    """Raises InvalidInputException for the first expression that is not valid, with the place of the fault."""
    found = [
        named
        for member in ("Transformer", "InvokeConfiguration")
        for named in list_expressions(to_builtins(configuration.get(member)), member)
    ]
    if not found:
        return
    sources = [source for _, source in found]
    fault = yield from Ask(partial(_find_fault, context.environment.cache(Evaluator), sources))
    if fault is not None:
        place = "" if fault.position is None else f" at character {fault.position + BEGIN}"
        path = found[fault.failed][0]
        raise InvalidInputException(f"{path} is not valid JSONata{place}: {fault.error}", member=path)


def _find_fault(evaluator: Evaluator, sources: list[str]) -> Response | None:
    try:
        return evaluator.find_fault(sources)
    except ExpressionsUnavailableError as error:
        raise InternalException(str(error)) from error
