module "start_role" {
  source = "../start_role"

  name          = var.name
  log_group_arn = aws_cloudwatch_log_group.this.arn
  secret_arns   = distinct(concat([var.password_secret], values(var.secrets)))
}

# What the service itself may do on AWS: nothing.
resource "aws_iam_role" "task" {
  name_prefix        = "${var.name}-task-"
  assume_role_policy = module.start_role.trust_policy
}
