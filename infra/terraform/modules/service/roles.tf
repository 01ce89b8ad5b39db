locals {
  # Without the key that an ARN may have at its end.
  secret_arns = distinct([for arn in concat([var.password_secret], values(var.secrets)) : join(":", slice(split(":", "${arn}:::"), 0, 7))])
}

module "start_role" {
  source = "../start_role"

  name          = var.name
  log_group_arn = aws_cloudwatch_log_group.this.arn
  secret_arns   = local.secret_arns
}

# What the service itself may do on AWS: invoke functions, if there are some, and nothing else.
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
      Action   = ["lambda:InvokeFunction", "lambda:GetFunctionConfiguration"] # its timeout, when a mapping is made
      Resource = var.lambda_functions
    }]
  })
}
