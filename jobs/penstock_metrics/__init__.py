"""Computes the metrics of queues from their history with PySpark: `python -m penstock_metrics`, or `make metrics`.

    main         the command line; one shot or continuous
    span         the days to compute, and their calendar
    scope        the time from which a run computes the windows of each queue
    run          one run: finds changes, reads, computes, writes
    continuous   repeats a run each interval
    spark/       Java, a session of Spark, the code for executors
    database/    address, snapshot, read (by Arrow or JDBC), write, forecasts, the record of runs and of their ranges
    transforms/  changes (deltas), counts of windows (events), depth (occupancy), latency: DataFrame -> DataFrame;
                 forecasts/
    output/      results as Parquet files and Iceberg tables

docs/reference/metrics_tables.md explains the figures. docs/decisions/0009-spark-pipeline.md explains the design.
"""
