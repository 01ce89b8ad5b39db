# The rights of ECS to start a task.

variable "name" { type = string }
variable "log_group_arn" { type = string }

variable "secret_arns" {
  description = "Secrets that the containers get as variables"
  type        = list(string)
}

resource "aws_iam_role" "this" {
  name_prefix        = "${var.name}-start-"
  assume_role_policy = data.aws_iam_policy_document.tasks.json
}

resource "aws_iam_role_policy" "this" {
  name_prefix = "start-"
  role        = aws_iam_role.this.id
  policy      = data.aws_iam_policy_document.this.json
}

data "aws_iam_policy_document" "this" {
  statement {
    actions = [
      "ecr:BatchCheckLayerAvailability", # which layers of the images exist
      "ecr:BatchGetImage",               # the manifests of the images
      "ecr:GetDownloadUrlForLayer",      # the addresses of the layers
    ]
    resources = ["arn:${data.aws_partition.here.partition}:ecr:*:*:repository/*"] # their owners grant the rights
  }

  statement {
    actions   = ["ecr:GetAuthorizationToken"] # to log in to the registry; it has no resource
    resources = ["*"]
  }

  statement {
    actions = [
      "logs:CreateLogStream", # one for each container of a task
      "logs:PutLogEvents",    # the output of the containers
    ]
    resources = ["${var.log_group_arn}:*"]
  }

  statement {
    actions   = ["secretsmanager:GetSecretValue"] # variables of the containers
    resources = var.secret_arns
  }
}

data "aws_partition" "here" {}

data "aws_iam_policy_document" "tasks" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["ecs-tasks.amazonaws.com"] # only ECS, on behalf of a task
    }
  }
}

output "arn" {
  description = "Known once the role has its rights"
  value       = aws_iam_role.this.arn
  depends_on  = [aws_iam_role_policy.this]
}

output "trust_policy" {
  description = "Lets only ECS act in a role on behalf of a task"
  value       = data.aws_iam_policy_document.tasks.json
}
