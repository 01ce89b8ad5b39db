locals {
  # The secrets' ARNs, without a key at their end.
  secret_arns = distinct([for arn in concat([var.password_secret], values(var.secrets)) : join(":", slice(split(":", "${arn}:::"), 0, 7))])
}

module "start_role" {
  source = "../start_role"

  name          = var.name
  log_group_arn = aws_cloudwatch_log_group.this.arn
  secret_arns   = local.secret_arns
}

# The service's only permissions on AWS are those to invoke the given functions.
resource "aws_iam_role" "task" {
  name_prefix        = "${var.name}-task-"
  assume_role_policy = module.start_role.trust_policy
}

resource "aws_iam_role_policy" "invocations" {
  count = length(var.lambda_functions) > 0 ? 1 : 0

  name_prefix = "invocations-"
  role        = aws_iam_role.task.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect   = "Allow"
      Action   = ["lambda:InvokeFunction", "lambda:GetFunctionConfiguration"] # a mapping needs the timeout
      Resource = var.lambda_functions
    }]
  })
}
