"""Metrics of queues from their history, on PySpark: `python -m penstock_metrics`, or `make metrics`.

    main         the command line; one shot or continuous
    span         the days that are computed, and their calendar
    scope        from when on a run computes the windows of each queue
    run          one run: finds what is new, reads, computes, writes
    continuous   a run again each interval
    spark/       Java, a session of Spark, the code for executors
    database/    address, snapshot, read (by Arrow: source, or by JDBC), write (what differs), runs (their record),
                 ranges (what they have handled), forecasts
    transforms/  what is new (deltas), counts of windows (events), depth (occupancy), latency: DataFrame -> DataFrame;
                 forecasts/
    output/      what was stored, as Parquet files and Iceberg tables

docs/metrics.md explains the figures, docs/decisions/0009-spark-pipeline.md the design.
"""
