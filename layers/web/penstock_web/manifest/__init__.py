"""Reads, compares, applies and exports penstock.yaml, which describes a service's desired state.

    model.py        the file's parts
    source.py       reads and writes YAML
    check.py        checks the file's values
    endpoint.py     calls an SQS and SNS endpoint through boto3
    current.py      reads an endpoint's state and represents it like the file
    references.py   converts names in the file to ARNs, and ARNs to names
    changes.py      the changes of a plan
    plan.py         computes the changes from the current to the desired state
    users.py        users and policies in the database

docs/guides/penstock_file.md explains the file. penstock_web/cli/commands/manifest.py defines `penstock apply`,
`export` and `import`.
"""
