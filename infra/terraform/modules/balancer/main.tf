# Creates the load balancer. Clients have only a listener for HTTPS: SDKs do not follow a redirect of a POST, so port 80
# is closed.

resource "aws_security_group" "this" {
  name_prefix = "${var.name}-balancer-"
  description = "Load balancer of ${var.name}"
  vpc_id      = var.vpc_id
  tags        = { Name = "${var.name}-balancer" }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "clients" {
  for_each = toset(var.client_cidrs)

  security_group_id = aws_security_group.this.id
  description       = "Clients"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
  cidr_ipv4         = each.value
}

resource "aws_vpc_security_group_egress_rule" "tasks" {
  security_group_id = aws_security_group.this.id
  description       = "Requests and health checks to the tasks"
  ip_protocol       = "tcp"
  from_port         = var.port
  to_port           = var.port
  cidr_ipv4         = "0.0.0.0/0" # the tasks' group admits only the service's port
}

resource "aws_lb" "this" {
  name               = var.name
  load_balancer_type = "application"
  internal           = var.internal
  subnets            = var.subnet_ids
  security_groups    = [aws_security_group.this.id]
  idle_timeout       = var.idle_timeout_seconds

  # Signatures cover the Host header, and queue URLs contain it, so the balancer keeps it.
  preserve_host_header       = true
  xff_header_processing_mode = "append"
  drop_invalid_header_fields = true
  enable_deletion_protection = var.deletion_protection

  dynamic "access_logs" {
    for_each = var.log_bucket == "" ? [] : [var.log_bucket]
    content {
      bucket  = access_logs.value
      prefix  = var.name
      enabled = true
    }
  }
}

resource "aws_lb_target_group" "this" {
  name_prefix = "pstk-"
  vpc_id      = var.vpc_id
  port        = var.port
  protocol    = "HTTP"
  target_type = "ip"

  # ECS first removes a task from this group, and stops it after this time, in which long polls end.
  deregistration_delay          = var.deregistration_delay_seconds
  load_balancing_algorithm_type = "least_outstanding_requests" # long polls take longer than sends

  # ECS replaces the tasks that this check fails. All tasks share the database, so /readyz would fail for all of them in
  # an outage. With /livez they stay, and clients get the service's 503 with Retry-After, which SDKs retry. A task starts
  # the service after its migration, which needs the database.
  health_check {
    path                = "/livez"
    matcher             = "200"
    interval            = 5
    timeout             = 4
    healthy_threshold   = 2
    unhealthy_threshold = 2
  }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_lb_listener" "https" {
  load_balancer_arn = aws_lb.this.arn
  port              = 443
  protocol          = "HTTPS"
  ssl_policy        = "ELBSecurityPolicy-TLS13-1-2-2021-06"
  certificate_arn   = var.certificate_arn

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.this.arn
  }
}

# Prometheus scrapes the tasks within the network.
resource "aws_lb_listener_rule" "private" {
  listener_arn = aws_lb_listener.https.arn
  priority     = 1

  condition {
    path_pattern {
      values = ["/metrics"]
    }
  }

  action {
    type = "fixed-response"

    fixed_response {
      content_type = "text/plain"
      message_body = "not found"
      status_code  = "404"
    }
  }
}
