# Tests the plan without AWS: `make check-terraform`.

mock_provider "aws" {
  mock_data "aws_region" {
    defaults = { name = "eu-central-1" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::111122223333:role/penstock" }
  }
  mock_resource "aws_lb" {
    defaults = {
      arn        = "arn:aws:elasticloadbalancing:eu-central-1:111122223333:loadbalancer/app/penstock/1"
      arn_suffix = "app/penstock/1"
    }
  }
  mock_resource "aws_lb_target_group" {
    defaults = {
      arn        = "arn:aws:elasticloadbalancing:eu-central-1:111122223333:targetgroup/penstock/1"
      arn_suffix = "targetgroup/penstock/1"
    }
  }
  mock_resource "aws_lb_listener" {
    defaults = { arn = "arn:aws:elasticloadbalancing:eu-central-1:111122223333:listener/app/penstock/1/2" }
  }
  mock_resource "aws_ecs_task_definition" {
    defaults = { arn = "arn:aws:ecs:eu-central-1:111122223333:task-definition/penstock:1" }
  }
}

variables {
  vpc_id              = "vpc-1"
  private_subnet_ids  = ["subnet-1", "subnet-2"]
  balancer_subnet_ids = ["subnet-3", "subnet-4"]
  client_cidrs        = ["10.0.0.0/8"]
  certificate_arn     = "arn:aws:acm:eu-central-1:111122223333:certificate/1"
  settings            = { QUEUE_BASE_URL = "https://queues.example.com" }
  image               = "registry.example.com/penstock:0.1.0"
  pooler_image        = "registry.example.com/pgbouncer:0.1.0"
  secret_settings     = { QUEUE_ENCRYPTION_KEY = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:key-abc123" }
}

run "everything" {
  command = apply

  assert {
    condition     = output.connections == 6 * (10 + 4 + 2)
    error_message = "6 tasks, each with 10 connections of PgBouncer, 4 direct ones, one for LISTEN and one for migrations"
  }
  assert {
    condition     = length(module.workers) == 0 && length(module.pooler) == 0
    error_message = "workers and a shared PgBouncer are off by default"
  }
  assert {
    condition     = startswith(output.endpoint, "https://")
    error_message = "clients use https"
  }
}

run "settings_of_the_service" {
  command = apply

  variables {
    settings = {
      QUEUE_BASE_URL        = "https://queues.example.com"
      QUEUE_ADDRESS         = "0.0.0.0:8000"
      QUEUE_MAX_CONNECTIONS = 4
      QUOTA_QUEUES          = 1000
      OTLP_ENABLED          = true
    }
  }

  assert {
    condition     = module.settings.environment.QUOTA_QUEUES == "1000" && module.settings.environment.OTLP_ENABLED == "true" && module.settings.environment.QUEUE_ACCESS == "sigv4"
    error_message = "a setting has its new value, and the other settings stay the same"
  }
  assert {
    condition     = output.connections == 6 * (10 + 2 + 2) && aws_vpc_security_group_ingress_rule.tasks.from_port == 8000
    error_message = "values that depend on a setting follow it"
  }
}

run "open_to_all_private_networks" {
  command = plan

  variables {
    settings     = { QUEUE_BASE_URL = "https://queues.example.com", QUEUE_ACCESS = "presence" }
    client_cidrs = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"]
  }
}

run "with_signatures_open_to_the_internet" {
  command = plan

  variables {
    client_cidrs = ["0.0.0.0/0"]
  }
}

run "with_workers_and_a_shared_pooler" {
  command = apply

  variables {
    worker_tasks            = 2
    pooler_tasks            = 2
    pooler_client_group_ids = { functions = "sg-1" }
  }

  assert {
    condition     = output.connections == 6 * (10 + 4 + 2) + 2 * (10 + 2) + 20
    error_message = "6 tasks with 16 connections, 2 of workers with 12 and 2 of PgBouncer with 10"
  }
  assert {
    condition     = endswith(output.pooler_address, ":6432") && length(output.log_groups) == 3
    error_message = "both modules must exist"
  }
}

run "scaling_by_requests" {
  command = apply

  variables {
    requests_per_task = 30000
  }

  assert {
    condition     = module.balancer.requests_label == "app/penstock/1/targetgroup/penstock/1"
    error_message = "the label must belong to this load balancer and these tasks"
  }
}
