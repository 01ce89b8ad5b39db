"""Every SQL function that the service calls, by subject: its parameters' types, and the names of its columns.

SQL itself lives in `sql/functions`. A function of Lambda imports only the modules that its action needs.
"""
