"""The functions as Lambda runs them, on this machine and without Docker: `make lambda`.

    template.py      what the built template says: functions, routes, schedules
    values.py        intrinsic functions of CloudFormation, as far as templates here use them
    balancer.py      what infra/alb/template.yaml says: which request goes to which function
    events.py        HTTP requests as events of API Gateway and of load balancers, and answers
    environment.py   execution environments: one process of AWS's own runtime (awslambdaric) each
    runtime_api.py   the Lambda Runtime API, which these processes ask for work
    fleet.py         takes an idle environment or makes one, within reserved concurrency
    front.py         HTTP in front of it: the HTTP API and the load balancer
    schedules.py     invokes the scheduled functions at their rates

It runs the artefacts of `sam build`, not the sources.
"""
