mock_provider "aws" {
  mock_data "aws_region" {
    defaults = { name = "eu-central-1" }
  }
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::111122223333:role/penstock" }
  }
  mock_resource "aws_ecs_task_definition" {
    defaults = { arn_without_revision = "arn:aws:ecs:eu-central-1:111122223333:task-definition/penstock-metrics" }
  }
}

variables {
  name               = "penstock-metrics"
  cluster_arn        = "arn:aws:ecs:eu-central-1:111122223333:cluster/penstock"
  image              = "registry.example.com/penstock-metrics:0.1.0"
  schedule           = "rate(1 hour)"
  environment        = { DATABASE_URL = "postgresql://penstock@db.example.com/penstock", LOG_LEVEL = "" }
  password_secret    = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:a"
  cpu                = 2048
  memory             = 8192
  architecture       = "ARM64"
  subnet_ids         = ["subnet-1"]
  security_group_ids = ["sg-1"]
  log_retention_days = 30
}

run "a_task_each_hour" {
  command = apply # makes the definitions known; the provider is a mock
  module {
    source = "./modules/metrics"
  }

  assert {
    condition     = aws_scheduler_schedule.this.target[0].arn == var.cluster_arn && aws_scheduler_schedule.this.schedule_expression == "rate(1 hour)"
    error_message = "the schedule starts a task of the cluster"
  }
  assert {
    condition = alltrue([
      for container in jsondecode(aws_ecs_task_definition.this.container_definitions) :
      container.readonlyRootFilesystem && container.secrets == [{ name = "PGPASSWORD", valueFrom = var.password_secret }]
      && !strcontains(jsonencode(container.environment), "password") && length(container.environment) == 1
    ])
    error_message = "the password is a secret, and the job does not get empty variables"
  }
}
