"""Every SQL function that the service calls, by subject: parameter types and column names.

The SQL is in `sql/functions`. A Lambda function imports only the modules that its action needs.
"""
