"""Declares the parameter types and column names of every SQL function that the service calls, by subject.

The SQL is in `sql/functions`. A Lambda function imports only the modules that its action needs.
"""
