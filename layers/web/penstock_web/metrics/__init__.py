"""Serves GET /metrics: counters of a process and measurements of the database, for Prometheus.

    families.py      the table of metrics: the type, labels and buckets of each
    memory.py        the numbers of a process, which the processes that share its port can read
    meter.py         counters of requests and workers
    queue_counts.py  counters of a limited number of queues
    readings.py      reads what the worker `measure` stored
    verdicts.py      gives verdicts on the queues, from their minutes
    exposition.py    Prometheus's text format, and OpenMetrics
    exemplars.py     traces of requests, for OpenMetrics
    negotiation.py   which of them a scraper takes
    page.py          the route

Counting costs a request less than a microsecond, because the numbers are slots of one array and one look-up in a
dictionary finds the slots. The counters are formatted only when a client requests /metrics.
"""
