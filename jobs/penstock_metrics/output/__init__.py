"""Exports the job's results and the outcomes of messages as Parquet files and as Iceberg tables.

    datasets   windows, latencies, messages: their columns, and the SQL that reads them
    place      the folder or bucket: names of files, listing, removal, and the note about exported runs
    days       the days (UTC) to write, and the days to leave unchanged
    write      the executors' work: writes all files of a day and a queue, and then removes replaced files
    iceberg    registers the files in Iceberg tables, with a commit for each table
    export     the whole export

A run computes only changes, but a file contains a whole day. An export therefore reads whole days from PostgreSQL. The
name of a file contains the digest of its contents, so the export does not write unchanged files.
"""
