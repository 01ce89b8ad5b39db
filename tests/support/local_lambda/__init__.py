"""Runs the functions locally as Lambda does, without Docker: `make lambda`.

    template.py      reads the built template with CloudFormation's intrinsic functions, and the load balancer's rules
    events.py        HTTP requests as events of API Gateway and of load balancers; results as responses
    environment.py   execution environments: one process of awslambdaric each; the Lambda Runtime API
    mount_read_only.py  lets these processes write to /tmp alone
    fleet.py         chooses an idle environment or starts one, within the limits; invokes the scheduled functions
    limits.py        AWS's limits of size and time, and their pages; why an invocation has no result
    idle_network.py  the network to the database, which forgets idle connections
    front.py         HTTP front ends: the HTTP API and the load balancer

The harness runs the artefacts of `sam build`, not the sources.
"""
