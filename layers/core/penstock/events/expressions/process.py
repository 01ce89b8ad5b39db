"""The process in which expressions run: `python -m penstock.events.expressions.process MIB`.

It reads jobs from standard input and writes responses to standard output. An expression that needs too much memory, or
too many levels of the machine's stack, ends the process. Then `evaluator.py` starts another process.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, process_time, time

import msgspec
from jlens import Expression, JlensError

from penstock.aws.json_text import decode_json

from .functions import FUNCTIONS
from .protocol import (
    MAX_ARRAY_ITEMS,
    MAX_DEPTH,
    MAX_RESULT_BYTES,
    MAX_STRING_BYTES,
    READY,
    SECONDS,
    Job,
    Response,
    pack,
    split_frame,
)

KEPT_EXPRESSIONS = 1_000
_compiled: dict[str, Expression] = {}


def main() -> None:
    """Responses jobs until standard input ends."""
    limit_memory(int(sys.argv[1]))
    write(READY)
    decoder = msgspec.msgpack.Decoder(Job)
    buffer = bytearray()
    while data := os.read(0, 1 << 20):
        buffer += data
        while (frame := split_frame(buffer)) is not None:
            run(decoder.decode(frame))


def limit_memory(memory_mb: int) -> None:
    """Limits the memory that this process can add. jlens reserves a gigabyte of addresses for its stack, so the limit
    counts from the size at the start. Systems without /proc have no such limit."""
    try:
        import resource  # noqa: PLC0415 - only Unix has it

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):
        return
    most = pages * resource.getpagesize() + (memory_mb << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(job: Job) -> None:
    fault = find_fault(job.sources)
    if fault is not None or not job.documents:
        for _ in range(max(1, len(job.documents))):
            write(fault or Response())
        return
    end, left = process_time() + job.seconds, job.max_bytes
    for document in job.documents:
        if process_time() >= end or left <= 0:
            write(Response(ended=True))
            return
        response = evaluate(job.sources, document)
        left -= sum(len(result or "") for result in response.results)
        write(response)


def find_fault(sources: Sequence[str]) -> Response | None:
    """Compiles expressions, and returns the fault of the first one that is not valid."""
    for number, source in enumerate(sources):
        try:
            compile_expression(source)
        except JlensError as error:
            return Response(error=describe(error), failed=number, position=error.position)
    return None


def compile_expression(source: str) -> Expression:
    """Returns the compiled expression. Raises JlensError."""
    known = _compiled.get(source)
    if known is None:
        if len(_compiled) >= KEPT_EXPRESSIONS:
            _compiled.clear()
        known = _compiled[source] = Expression(source)
        for name, (function, signature) in FUNCTIONS.items():
            known.register_function(name, function, signature)
    return known


def evaluate(sources: Sequence[str], document: bytes) -> Response:
    """Evaluates expressions. `$now()` and `$millis()` are equal in all of them."""
    now, deadline = int(time() * 1000), monotonic() + SECONDS
    results: list[str | None] = []
    try:
        bindings = {"events": decode_json(document)}
        for source in sources:
            result = compile_expression(source).evaluate_json(
                None,
                bindings,
                timeout=max(0.001, deadline - monotonic()),
                max_depth=MAX_DEPTH,
                max_string_length=MAX_STRING_BYTES,
                max_array_length=MAX_ARRAY_ITEMS,
                max_result_size=MAX_RESULT_BYTES,
                now=now,
            )
            results.append(result)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - errors of functions keep their types
        return Response(error=describe(error), failed=len(results), position=getattr(error, "position", None))
    return Response(results)


def describe(error: Exception) -> str:
    """Returns the text of an error, with JSONata's code."""
    code = getattr(error, "code", None)
    return f"{code}: {error}" if code else str(error)


def write(message: object) -> None:
    data = pack(message)
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()
