"""Metrics of queues from their history, on PySpark: `python -m jobs.queue_metrics`, or `make metrics`.

    main       the command line; one shot or continuous
    session    Java, and a session of Spark
    address    which database
    span       which days are computed, and their calendar
    snapshot   one state of the database, for readers that come one after the other
    read       messages and times of other things as DataFrames: by Arrow (source) or JDBC
    transforms what happened in windows, depth (occupancy), skew, latency, forecast: DataFrame -> DataFrame
    write      replaces windows in queue.metrics_*
    run        all of it, once; continuous: again whenever something was recorded

docs/metrics.md says what the figures mean; docs/decisions/0009-spark-pipeline.md why it is made like this.
"""
