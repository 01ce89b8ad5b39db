"""Writes the access log (ACCESS_LOG): one line of JSON for each request. The log also has a line for each request whose
client disconnects early.

    request ends ──► queue (bounded) ──► thread ──► JSON ──► standard output or standard error

    lines.py    the fields of a line
    writer.py   the queue and the thread

A request only appends a tuple to the queue, and never waits for the log's reader. The writer drops and counts lines if
the queue is full.
"""
