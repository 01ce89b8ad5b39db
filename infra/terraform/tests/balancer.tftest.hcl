mock_provider "aws" {}

variables {
  name                         = "penstock"
  port                         = 9324
  vpc_id                       = "vpc-1"
  subnet_ids                   = ["subnet-3", "subnet-4"]
  internal                     = true
  client_cidrs                 = ["10.0.0.0/8"]
  certificate_arn              = "arn:aws:acm:eu-central-1:111122223333:certificate/1"
  idle_timeout_seconds         = 60
  deregistration_delay_seconds = 30
  deletion_protection          = true
}

run "balancer" {
  command = plan
  module {
    source = "./modules/balancer"
  }

  assert {
    condition     = aws_lb.this.idle_timeout == 60 && aws_lb.this.preserve_host_header
    error_message = "signatures cover the Host header"
  }
  assert {
    condition     = aws_lb.this.drop_invalid_header_fields && aws_lb.this.xff_header_processing_mode == "append"
    error_message = "the service trusts the forwarded headers"
  }
  assert {
    condition     = tonumber(aws_lb_target_group.this.deregistration_delay) > 20
    error_message = "a stopping task must finish long polls of 20 s"
  }
  assert {
    condition     = aws_lb_target_group.this.health_check[0].path == "/livez"
    error_message = "an outage of the database must not make ECS replace all tasks"
  }
  assert {
    condition     = aws_lb_listener.https.protocol == "HTTPS" && aws_lb_listener.https.port == 443
    error_message = "requests have credentials, so clients need HTTPS"
  }
  assert {
    condition     = tolist(aws_lb_listener_rule.private.condition)[0].path_pattern[0].values == toset(["/metrics"])
    error_message = "clients must not read metrics"
  }
  assert {
    condition     = [for r in aws_vpc_security_group_ingress_rule.clients : "${r.from_port} ${r.cidr_ipv4}"] == ["443 10.0.0.0/8"]
    error_message = "only the clients' networks reach the balancer, and only port 443"
  }
  assert {
    condition     = length(aws_lb.this.access_logs) == 0
    error_message = "access logs need a bucket"
  }
}

run "access_logs" {
  command = plan
  module {
    source = "./modules/balancer"
  }
  variables {
    log_bucket = "logs"
  }

  assert {
    condition     = one([for l in aws_lb.this.access_logs : "${l.enabled} ${l.bucket} ${l.prefix}"]) == "true logs penstock"
    error_message = "the bucket gets the access logs"
  }
}
