"""The operations of the REST API, the console, the command line and MCP on the resources of an account.

Each module contains documents, which msgspec decodes and describes, and operations (`penstock.effects`), which call the
same SQL functions as AWS's APIs. A client identifies a queue by name; the context has the account and the region. The
modules are independent of HTTP. Functions of AWS's actions never import this package.
"""
