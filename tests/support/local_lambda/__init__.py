"""Runs the functions locally like Lambda, without Docker: `make lambda`.

    template.py         reads the built template and the load balancer's rules
    events.py           converts HTTP requests to events, and results to HTTP responses
    environment.py      runs execution environments (processes of awslambdaric) and the Lambda Runtime API
    mount_read_only.py  lets these processes write only to /tmp
    fleet.py            chooses or starts an environment for each invocation, and invokes the scheduled functions
    limits.py           defines AWS's limits and their sources, and the errors of invocations
    idle_network.py     imitates a network that forgets idle connections to the database
    front.py            provides HTTP front ends: the HTTP API and the load balancer

The harness runs the output of `sam build` instead of the sources.
"""
