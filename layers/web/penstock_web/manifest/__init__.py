"""Reads, compares, applies and exports penstock.yaml, the desired state of a service.

    model.py        the parts of the file
    source.py       YAML, with the lines of errors
    check.py        whether the service would take each value
    endpoint.py     an endpoint of SQS and SNS, through boto3
    current.py      what an endpoint has, as the file would say it
    references.py   names in the file, ARNs at the endpoint
    changes.py      the changes of a plan, in their order
    plan.py         the changes that lead from the current to the desired state
    users.py        users and their policies, in the database

docs/guides/penstock_file.md is for users. `penstock apply`, `export` and `import` are in penstock_web/cli/manifest.py.
"""
