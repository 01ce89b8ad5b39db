# PgBouncer has no rights on AWS, and no role.
module "start_role" {
  source = "../start_role"

  name          = var.name
  log_group_arn = aws_cloudwatch_log_group.this.arn
  secret_arns   = compact([var.password_secret, var.certificate_secret])
}
