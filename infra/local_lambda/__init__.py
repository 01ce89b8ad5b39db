"""Runs the functions locally as Lambda does, without Docker: `make lambda`.

    template.py      reads the built template: functions, routes, schedules
    values.py        resolves the intrinsic functions of CloudFormation that our templates use
    balancer.py      reads the load balancer's rules in infra/alb/template.yaml
    events.py        HTTP requests as events of API Gateway and of load balancers; results as responses
    environment.py   execution environments: one process of AWS's own runtime (awslambdaric) each
    runtime_api.py   the Lambda Runtime API, from which these processes request invocations
    fleet.py         chooses an idle environment or starts one, within the limits of concurrency
    front.py         HTTP front ends: the HTTP API and the load balancer
    schedules.py     invokes the scheduled functions at their rates

It runs the artefacts of `sam build`, not the sources.
"""
