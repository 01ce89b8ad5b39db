"""The operations of the REST API, the console, the command line and MCP on the resources of an account.

Each module has one subject. Each module contains the documents, which msgspec decodes and describes, and the operations
(`penstock.effects`), which call the same SQL functions as AWS's APIs. A client addresses a queue by its name; the
context has the account and the region. No module here knows HTTP: each caller translates its own requests. The
functions of AWS's actions never import this package.

    queues, messages/, events, bindings, transactions,
    topics, mappings, schedules/, move_tasks          resources and their messages
    deliveries/, outbox                               deliveries and messages that wait, failed or are under way
    metrics/, verdicts                                results of the metrics job, and of the minutes
    access, policies, rights, actions                 users, keys, policies and rights
    errors                                            the errors of the other modules
"""
