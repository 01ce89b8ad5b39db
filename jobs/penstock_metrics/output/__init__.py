"""Exports the job's results and the outcomes of messages as Parquet files and as Iceberg tables.

    datasets   windows, latencies, messages: their columns, and the SQL that reads them
    place      the folder or bucket: names of files, listing, removal, and the note about exported runs
    days       which days (UTC) have to be written, and which may no longer be replaced
    write      the work of executors: write files of a day and a queue whole, and then exchange them
    iceberg    registers the files in Iceberg tables, a commit each
    export     the whole export

An export reads whole days from PostgreSQL and not the windows that a run has just computed: a run computes only
changes, but a file holds a whole day. The name of a file contains the digest of its contents, so the export does not
write unchanged files.
"""
