"""What the job stored, and what became of messages, as Parquet files and as Iceberg tables.

    datasets   windows, latencies, messages: their columns, and the SQL that reads them
    place      the folder or bucket: names of files, listing, removal, and the note of what was exported
    days       which days (UTC) have to be written, and which may no longer be replaced
    write      what executors do: files of a day and a queue, written whole and then exchanged
    iceberg    registers the files in Iceberg tables, a commit each
    export     all of it

What is exported is read from PostgreSQL, whole days at a time, and not taken from the windows that a run has just
computed: a run computes what changed, a file has all of its day. A file's name has the digest of its contents, so what
did not change is not written.
"""
