# Runs PgBouncer for clients without their own pooler, mainly Lambda functions. Hundreds of execution environments share
# `tasks` times POOL_SIZE connections. The load balancer forwards TCP.

module "container" {
  source = "../pooler_container"

  image = var.image
  # No code reads PASSWORD_VERSION. It makes a new password create new tasks.
  environment     = merge(var.environment, { PASSWORD_VERSION = tostring(var.password_version) })
  password_secret = var.password_secret
  secrets         = local.certificate
  log_group       = aws_cloudwatch_log_group.this.name
}

locals {
  # Certificate and key are members of one secret.
  certificate = var.certificate_secret == "" ? {} : {
    CLIENT_TLS_CERTIFICATE = "${var.certificate_secret}:certificate::"
    CLIENT_TLS_KEY         = "${var.certificate_secret}:key::"
  }
}

resource "aws_security_group" "this" {
  name_prefix = "${var.name}-"
  description = "PgBouncer and its load balancer, ${var.name}"
  vpc_id      = var.vpc_id
  tags        = { Name = var.name }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "clients" {
  for_each = merge(var.client_group_ids, { itself = aws_security_group.this.id }) # the balancer reaches the tasks

  security_group_id            = aws_security_group.this.id
  description                  = "PgBouncer for ${each.key}"
  ip_protocol                  = "tcp"
  from_port                    = 6432
  to_port                      = 6432
  referenced_security_group_id = each.value
}

resource "aws_vpc_security_group_egress_rule" "all" {
  security_group_id = aws_security_group.this.id
  description       = "The database, images, secrets, logs"
  ip_protocol       = "-1"
  cidr_ipv4         = "0.0.0.0/0"
}

resource "aws_lb" "this" {
  name               = var.name
  load_balancer_type = "network"
  internal           = true
  subnets            = var.subnet_ids
  security_groups    = [aws_security_group.this.id]

  enable_cross_zone_load_balancing = true
}

resource "aws_lb_target_group" "this" {
  name_prefix = "pool-"
  vpc_id      = var.vpc_id
  port        = 6432
  protocol    = "TCP"
  target_type = "ip"

  # Transactions are short, and a function replaces a closed connection.
  deregistration_delay   = 30
  connection_termination = true
  preserve_client_ip     = "false"

  health_check {
    protocol            = "TCP"
    interval            = 10
    healthy_threshold   = 2
    unhealthy_threshold = 2
  }
}

resource "aws_lb_listener" "this" {
  load_balancer_arn = aws_lb.this.arn
  port              = 6432
  protocol          = "TCP"

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.this.arn
  }
}

resource "aws_cloudwatch_log_group" "this" {
  name              = "/penstock/${var.name}"
  retention_in_days = var.log_retention_days
}

resource "aws_ecs_task_definition" "this" {
  family                   = var.name
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = 256 # PgBouncer uses at most one processor, and little of it
  memory                   = 512
  execution_role_arn       = module.start_role.arn
  skip_destroy             = true

  container_definitions = jsonencode([
    merge(module.container.definition, { portMappings = [{ containerPort = 6432, protocol = "tcp" }] }),
  ])

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
  cluster         = var.cluster_id
  task_definition = aws_ecs_task_definition.this.arn
  desired_count   = var.tasks
  launch_type     = "FARGATE"

  deployment_minimum_healthy_percent = 100
  deployment_maximum_percent         = 200
  wait_for_steady_state              = true

  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  network_configuration {
    subnets          = var.subnet_ids
    security_groups  = [aws_security_group.this.id]
    assign_public_ip = false
  }

  load_balancer {
    target_group_arn = aws_lb_listener.this.default_action[0].target_group_arn
    container_name   = "pgbouncer"
    container_port   = 6432
  }
}

# PgBouncer has no permissions on AWS and no role.
module "start_role" {
  source = "../start_role"

  name          = var.name
  log_group_arn = aws_cloudwatch_log_group.this.arn
  secret_arns   = compact([var.password_secret, var.certificate_secret])
}

output "dns_name" { value = aws_lb.this.dns_name }
output "security_group_id" { value = aws_security_group.this.id }
output "log_group" { value = aws_cloudwatch_log_group.this.name }
