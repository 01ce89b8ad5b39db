"""Runs the functions locally as Lambda does, without Docker: `make lambda`.

    template.py      reads the built template: functions, routes, schedules
    values.py        resolves the intrinsic functions of CloudFormation that our templates use
    balancer.py      reads the load balancer's rules in infra/alb/template.yaml
    events.py        HTTP requests as events of API Gateway and of load balancers; results as responses
    environment.py   execution environments: one process of AWS's own runtime (awslambdaric) each
    read_only.py     lets these processes write to /tmp alone; mount_read_only.py does it
    runtime_api.py   the Lambda Runtime API, from which these processes request invocations
    fleet.py         chooses an idle environment or starts one, within the limits of concurrency
    limits.py        AWS's limits of size and time, and their pages; why an invocation has no result
    idle_network.py  the network to the database, which forgets idle connections
    front.py         HTTP front ends: the HTTP API and the load balancer
    schedules.py     invokes the scheduled functions at their rates

The harness runs the artefacts of `sam build`, not the sources.
"""
