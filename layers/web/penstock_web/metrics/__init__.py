"""GET /metrics: what a process counts, and what is measured of the database, for Prometheus.

    families.py      THE TABLE: every metric, its type, labels and buckets
    memory.py        the numbers of a process, which the processes that share its port can read
    meter.py         what requests and workers count
    queue_counts.py  what requests count about queues, for so many queues
    readings.py      what the worker `measure` stored, read again
    exposition.py    Prometheus's text format
    page.py          the route

Counting costs a request some tenths of a microsecond: numbers are slots of one array, found by one look into a
dictionary. Nothing is formatted before somebody asks.
"""
