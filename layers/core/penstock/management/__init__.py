"""The rules of the management plane: what the REST API, the console, the command line and MCP may do with resources.

A module a subject: its documents, which msgspec decodes and describes, and its operations (`penstock.effects`), which
call the same SQL functions as AWS's APIs. A client addresses a queue by its name; account and region are those of the
context. Nothing here knows HTTP: each caller translates its own requests. Functions of AWS's actions never import this.

    queues, messages/, events, bindings, transactions, topics, mappings, schedules/    resources and their messages
    deliveries/, outbox                               what waits, failed or is under way
    metrics/, verdicts                                what the metrics job and the minutes say
    access, policies, rights, actions                 who may do what
    errors                                            what the others raise
"""
