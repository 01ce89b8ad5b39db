mock_provider "aws" {
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::111122223333:role/penstock" }
  }
  mock_data "aws_region" {
    defaults = { name = "eu-central-1" }
  }
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
}

variables {
  name         = "penstock"
  cluster_name = "penstock"
  image        = "registry.example.com/penstock:0.1.0"
  pooler_image = "registry.example.com/pgbouncer:0.1.0"
  environment  = { DATABASE_URL = "postgresql://penstock@127.0.0.1:6432/penstock", QUEUE_BASE_URL = "" }
  secrets = {
    PGPASSWORD           = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:a"
    QUEUE_ENCRYPTION_KEY = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:b:QUEUE_ENCRYPTION_KEY::"
  }
  pooler_environment = { DATABASE_USER = "penstock" }
  migrate_role       = "penstock"
  password_secret    = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:a"
  processes          = 2
  port               = 9324
  drain_seconds      = 4
  cpu                = 1024
  memory             = 2048
  architecture       = "ARM64"
  tasks              = { least = 2, most = 6 }
  subnet_ids         = ["subnet-1", "subnet-2"]
  security_group_ids = ["sg-1"]
  target_group_arn   = "arn:aws:elasticloadbalancing:eu-central-1:111122223333:targetgroup/penstock/1"
  log_retention_days = 30
}

run "service" {
  command = apply # makes the definitions known; the provider is a mock
  module {
    source = "./modules/service"
  }

  assert {
    condition = (
      aws_ecs_service.this.deployment_minimum_healthy_percent == 100
      && aws_ecs_service.this.deployment_maximum_percent == 200
      && aws_ecs_service.this.deployment_circuit_breaker[0].rollback
      && aws_ecs_service.this.wait_for_steady_state
    )
    error_message = "a rollout must start new tasks first and roll back after a failure"
  }
  assert {
    condition     = [for c in jsondecode(aws_ecs_task_definition.this.container_definitions) : c.name] == ["pgbouncer", "migrate", "penstock"]
    error_message = "a task has PgBouncer, migrations and the service"
  }
  assert {
    condition     = alltrue([for c in jsondecode(aws_ecs_task_definition.this.container_definitions) : c.readonlyRootFilesystem])
    error_message = "containers cannot write to their images"
  }
  assert {
    condition = alltrue([
      for c in jsondecode(aws_ecs_task_definition.this.container_definitions) : alltrue([
        for e in c.environment : !can(regex("PASSWORD$|SECRET|_KEY$", e.name)) && !can(regex("//[^/@]*:[^/@]*@", e.value))
      ])
    ])
    error_message = "passwords and keys come from Secrets Manager, not from the task's definition"
  }
  assert {
    condition     = jsondecode(aws_ecs_task_definition.this.container_definitions)[1].essential == false && jsondecode(aws_ecs_task_definition.this.container_definitions)[1].command == ["migrate", "--tune-role", "penstock", "--first-key"]
    error_message = "the task must continue after the migrations"
  }
  assert {
    condition = { for d in jsondecode(aws_ecs_task_definition.this.container_definitions)[2].dependsOn : d.containerName => d.condition } == {
      migrate   = "SUCCESS"
      pgbouncer = "HEALTHY"
    }
    error_message = "the service must start after the migrations"
  }
  assert {
    condition     = jsondecode(aws_ecs_task_definition.this.container_definitions)[2].stopTimeout > 4
    error_message = "the service must have QUEUE_DRAIN_SECONDS to stop"
  }
  assert {
    condition     = !contains([for e in jsondecode(aws_ecs_task_definition.this.container_definitions)[2].environment : e.name], "QUEUE_BASE_URL")
    error_message = "the service does not get empty variables"
  }
  assert {
    condition     = local.secret_arns == tolist(["arn:aws:secretsmanager:eu-central-1:111122223333:secret:a", "arn:aws:secretsmanager:eu-central-1:111122223333:secret:b"])
    error_message = "ECS can read the secrets, and the policy has their ARNs without keys"
  }
  assert {
    condition     = one(aws_ecs_service.this.load_balancer[*].container_name) == "penstock"
    error_message = "requests must reach the service"
  }
  assert {
    condition     = length(aws_appautoscaling_policy.cpu) == 1 && length(aws_appautoscaling_policy.requests) == 0
    error_message = "without requests_per_task, only processor time counts"
  }
}

run "scaling_by_requests" {
  command = apply
  module {
    source = "./modules/service"
  }
  variables {
    requests_per_task = 30000
    requests_label    = "app/penstock/1/targetgroup/penstock/2"
  }

  # The label is required and has both ("PredefinedMetricSpecification", Application Auto Scaling API Reference).
  assert {
    condition = one([
      for p in aws_appautoscaling_policy.requests : one([
        for c in p.target_tracking_scaling_policy_configuration : c.target_value == 30000 && one([
          for m in c.predefined_metric_specification : "${m.predefined_metric_type} ${m.resource_label}"
        ]) == "ALBRequestCountPerTarget app/penstock/1/targetgroup/penstock/2"
      ])
    ])
    error_message = "the number of tasks must depend on requests"
  }
  assert {
    condition     = length(aws_appautoscaling_policy.cpu) == 1
    error_message = "the number of tasks must also depend on processor time"
  }
}

run "workers" {
  command = apply
  module {
    source = "./modules/service"
  }
  variables {
    target_group_arn = null
    tasks            = { least = 2, most = 2 }
  }

  assert {
    condition     = length(aws_ecs_service.this.load_balancer) == 0 && length(aws_appautoscaling_policy.cpu) == 0 && length(aws_appautoscaling_policy.requests) == 0 && length(aws_iam_role_policy.invocations) == 0
    error_message = "workers have no load balancer and the given number of tasks"
  }
}

run "functions" {
  command = apply
  module {
    source = "./modules/service"
  }
  variables {
    lambda_functions = ["arn:aws:lambda:eu-central-1:111122223333:function:orders-*"]
  }

  assert {
    condition = one([
      for p in aws_iam_role_policy.invocations : one([
        for s in jsondecode(p.policy).Statement : tolist(s.Action) == tolist(["lambda:InvokeFunction", "lambda:GetFunctionConfiguration"]) && tolist(s.Resource) == tolist(var.lambda_functions)
      ])
    ])
    error_message = "the service must only be able to invoke these functions"
  }
}
