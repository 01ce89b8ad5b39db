"""Writes the access log (ACCESS_LOG): one line of JSON for each request that was answered or whose client disconnected
early.

    request ends ──► queue (bounded) ──► thread ──► JSON ──► standard output or standard error

    lines.py    what a line has
    writer.py   the queue and the thread

A request only appends a tuple, and never waits for the reader of the log. The writer drops and counts lines that do not
fit.
"""
