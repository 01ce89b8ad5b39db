# Runs the service's tasks: behind the load balancer with a target group, and as workers without one.
#
# A task starts PgBouncer and `penstock migrate`, and then the service. The first new task thus migrates while the old
# tasks work. A failed migration ends the task, and ECS rolls back.

locals {
  log_options = {
    "awslogs-group"  = aws_cloudwatch_log_group.this.name
    "awslogs-region" = data.aws_region.here.name
  }

  environment = [for name, value in var.environment : { name = name, value = value } if value != ""]
  secrets     = [for name, arn in var.secrets : { name = name, valueFrom = arn }]

  pooler = merge(module.pooler_container.definition, {
    stopTimeout = 20 # PgBouncer ends after the service
    healthCheck = {
      command     = ["CMD", "bash", "-c", "</dev/tcp/127.0.0.1/6432"]
      interval    = 5
      timeout     = 3
      retries     = 3
      startPeriod = 5
    }
  })

  migrate = {
    name                   = "migrate"
    image                  = var.image
    command                = ["migrate", "--tune-role", var.migrate_role, "--first-key"] # its log has the key
    essential              = false
    startTimeout           = 900 # s: the limit of migrations
    readonlyRootFilesystem = true
    environment            = local.environment
    secrets                = local.secrets
    linuxParameters        = local.confined
    logConfiguration       = { logDriver = "awslogs", options = merge(local.log_options, { "awslogs-stream-prefix" = "migrate" }) }
  }

  penstock = {
    name                   = "penstock"
    image                  = var.image
    command                = ["up", "--host", "0.0.0.0", "--no-migrate", "--workers", tostring(var.processes)]
    essential              = true
    readonlyRootFilesystem = true
    environment            = local.environment
    secrets                = local.secrets
    portMappings           = [{ containerPort = var.port, protocol = "tcp" }]
    linuxParameters        = local.confined
    stopTimeout            = min(120, var.drain_seconds + 11) # ECS allows at most 120 s
    dependsOn = [
      { containerName = "migrate", condition = "SUCCESS" },
      { containerName = "pgbouncer", condition = "HEALTHY" },
    ]
    logConfiguration = { logDriver = "awslogs", options = merge(local.log_options, { "awslogs-stream-prefix" = "penstock" }) }
    # An outage of the database must not restart the service, so the check calls /livez instead of /readyz.
    healthCheck = {
      command = [
        "CMD", "python3", "-c",
        "import urllib.request as r; r.urlopen('http://127.0.0.1:${var.port}/livez', timeout=2)",
      ]
      interval    = 10
      timeout     = 3
      retries     = 3
      startPeriod = 30
    }
  }

  confined = { capabilities = { drop = ["ALL"] }, initProcessEnabled = true }
}

data "aws_region" "here" {}

module "pooler_container" {
  source = "../pooler_container"

  image           = var.pooler_image
  environment     = var.pooler_environment
  password_secret = var.password_secret
  log_group       = aws_cloudwatch_log_group.this.name
}

resource "aws_cloudwatch_log_group" "this" {
  name              = "/penstock/${var.name}"
  retention_in_days = var.log_retention_days
}

resource "aws_ecs_task_definition" "this" {
  family                   = var.name
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = var.cpu
  memory                   = var.memory
  execution_role_arn       = module.start_role.arn
  task_role_arn            = aws_iam_role.task.arn
  container_definitions    = jsonencode([local.pooler, local.migrate, local.penstock])
  # The previous definition stays active for a rollback.
  skip_destroy = true

  runtime_platform {
    operating_system_family = "LINUX"
    cpu_architecture        = var.architecture
  }

  volume {
    name = "pgbouncer"
  }
}

resource "aws_ecs_service" "this" {
  name            = var.name
  cluster         = var.cluster_name
  task_definition = aws_ecs_task_definition.this.arn
  desired_count   = var.tasks.least
  launch_type     = "FARGATE"
  propagate_tags  = "SERVICE"

  # New tasks start before old ones end. If a new task does not become healthy, ECS returns to the old definition.
  deployment_minimum_healthy_percent = 100
  deployment_maximum_percent         = 200
  health_check_grace_period_seconds  = var.target_group_arn == null ? null : 120
  availability_zone_rebalancing      = "ENABLED"
  wait_for_steady_state              = true

  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  network_configuration {
    subnets          = var.subnet_ids
    security_groups  = var.security_group_ids
    assign_public_ip = false
  }

  dynamic "load_balancer" {
    for_each = var.target_group_arn == null ? [] : [var.target_group_arn]
    content {
      target_group_arn = load_balancer.value
      container_name   = "penstock"
      container_port   = var.port
    }
  }

  lifecycle {
    ignore_changes = [desired_count] # scaling.tf changes it
  }
}

output "log_group" { value = aws_cloudwatch_log_group.this.name }
output "task_definition_arn" { value = aws_ecs_task_definition.this.arn }
