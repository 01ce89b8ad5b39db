# Creates the metrics job: EventBridge Scheduler starts a task each hour.

locals {
  environment = [for name, value in var.environment : { name = name, value = value } if value != ""]
}

data "aws_region" "here" {}

resource "aws_cloudwatch_log_group" "this" {
  name              = "/penstock/${var.name}"
  retention_in_days = var.log_retention_days
}

module "start_role" {
  source = "../start_role"

  name          = var.name
  log_group_arn = aws_cloudwatch_log_group.this.arn
  secret_arns   = [var.password_secret]
}

# The job has no permissions on AWS.
resource "aws_iam_role" "task" {
  name_prefix        = "${var.name}-task-"
  assume_role_policy = module.start_role.trust_policy
}

resource "aws_ecs_task_definition" "this" {
  family                   = var.name
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = var.cpu
  memory                   = var.memory
  execution_role_arn       = module.start_role.arn
  task_role_arn            = aws_iam_role.task.arn

  container_definitions = jsonencode([{
    name                   = "metrics"
    image                  = var.image
    essential              = true
    readonlyRootFilesystem = true
    environment            = local.environment
    secrets                = [{ name = "PGPASSWORD", valueFrom = var.password_secret }]
    mountPoints            = [{ sourceVolume = "scratch", containerPath = "/tmp", readOnly = false }]
    linuxParameters        = { capabilities = { drop = ["ALL"] }, initProcessEnabled = true }
    logConfiguration = {
      logDriver = "awslogs"
      options = {
        "awslogs-group"         = aws_cloudwatch_log_group.this.name
        "awslogs-region"        = data.aws_region.here.name
        "awslogs-stream-prefix" = "metrics"
      }
    }
  }])

  runtime_platform {
    operating_system_family = "LINUX"
    cpu_architecture        = var.architecture
  }

  volume {
    name = "scratch"
  }
}

resource "aws_scheduler_schedule" "this" {
  name                = var.name
  schedule_expression = var.schedule

  flexible_time_window {
    mode                      = "FLEXIBLE"
    maximum_window_in_minutes = 5
  }

  target {
    arn      = var.cluster_arn
    role_arn = aws_iam_role.schedule.arn

    ecs_parameters {
      task_definition_arn = aws_ecs_task_definition.this.arn_without_revision
      launch_type         = "FARGATE"
      propagate_tags      = "TASK_DEFINITION"

      network_configuration {
        subnets          = var.subnet_ids
        security_groups  = var.security_group_ids
        assign_public_ip = false
      }
    }

    # A failed start is not repeated, because the next run computes everything.
    retry_policy {
      maximum_retry_attempts = 0
    }
  }
}

resource "aws_iam_role" "schedule" {
  name_prefix        = "${var.name}-schedule-"
  assume_role_policy = data.aws_iam_policy_document.scheduler.json
}

resource "aws_iam_role_policy" "schedule" {
  name_prefix = "run-"
  role        = aws_iam_role.schedule.id
  policy      = data.aws_iam_policy_document.run.json
}

data "aws_iam_policy_document" "scheduler" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["scheduler.amazonaws.com"] # only EventBridge Scheduler
    }
  }
}

data "aws_iam_policy_document" "run" {
  statement {
    actions   = ["ecs:RunTask"] # only this job in this cluster
    resources = ["${aws_ecs_task_definition.this.arn_without_revision}:*", aws_ecs_task_definition.this.arn_without_revision]
    condition {
      test     = "ArnEquals"
      variable = "ecs:cluster"
      values   = [var.cluster_arn]
    }
  }

  statement {
    actions   = ["iam:PassRole"] # the roles of the job's task
    resources = [module.start_role.arn, aws_iam_role.task.arn]
    condition {
      test     = "StringEquals"
      variable = "iam:PassedToService"
      values   = ["ecs-tasks.amazonaws.com"]
    }
  }

  statement {
    actions   = ["ecs:TagResource"] # the task's tags
    resources = ["*"]
    condition {
      test     = "StringEquals"
      variable = "ecs:CreateAction"
      values   = ["RunTask"]
    }
  }
}
