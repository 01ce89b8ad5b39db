mock_provider "aws" {
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::111122223333:role/penstock" }
  }
  mock_resource "aws_lb" {
    defaults = { arn = "arn:aws:elasticloadbalancing:eu-central-1:111122223333:loadbalancer/net/penstock/1" }
  }
  mock_resource "aws_lb_target_group" {
    defaults = { arn = "arn:aws:elasticloadbalancing:eu-central-1:111122223333:targetgroup/penstock/1" }
  }
  mock_data "aws_region" {
    defaults = { name = "eu-central-1" }
  }
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }
}

variables {
  name               = "penstock-pooler"
  vpc_id             = "vpc-1"
  cluster_id         = "penstock"
  image              = "registry.example.com/pgbouncer:0.1.0"
  environment        = { DATABASE_USER = "penstock", SERVER_TLS = "verify-full" }
  password_secret    = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:a"
  password_version   = 1
  certificate_secret = ""
  architecture       = "ARM64"
  tasks              = 2
  subnet_ids         = ["subnet-1", "subnet-2"]
  client_group_ids   = { functions = "sg-1" }
  log_retention_days = 30
}

run "without_a_certificate" {
  command = apply # makes the definitions known; the provider is a mock
  module {
    source = "./modules/pooler"
  }

  assert {
    condition     = [for s in jsondecode(aws_ecs_task_definition.this.container_definitions)[0].secrets : s.name] == ["DATABASE_PASSWORD"]
    error_message = "clients connect without TLS"
  }
}

run "with_a_certificate" {
  command = apply
  module {
    source = "./modules/pooler"
  }
  variables {
    certificate_secret = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:tls"
  }

  assert {
    condition = { for s in jsondecode(aws_ecs_task_definition.this.container_definitions)[0].secrets : s.name => s.valueFrom } == {
      CLIENT_TLS_CERTIFICATE = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:tls:certificate::"
      CLIENT_TLS_KEY         = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:tls:key::"
      DATABASE_PASSWORD      = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:a"
    }
    error_message = "certificate and key are members of one secret"
  }
}
