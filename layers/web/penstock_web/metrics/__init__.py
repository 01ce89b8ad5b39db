"""Serves GET /metrics for Prometheus, with the process's counters and the database's measurements.

    families.py      the table of metrics: types, labels and buckets
    memory.py        a process's numbers, which all processes on the port can read
    meter.py         counters of requests and workers
    queue_counts.py  counters by queue
    readings.py      reads the measurements of the worker `measure`
    verdicts.py      computes verdicts on queues from their minutes
    exposition.py    Prometheus's text format, OpenMetrics and exemplars
    negotiation.py   reads the formats that a scraper accepts
    page.py          the route

Counting a request takes less than a microsecond, because one array holds all numbers, and one dictionary look-up finds
the numbers' positions. The process formats the counters only for a request of /metrics.
"""
