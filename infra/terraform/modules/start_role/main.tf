# Creates the role with which ECS starts a task.

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
      "ecr:BatchCheckLayerAvailability", # checks which layers exist
      "ecr:BatchGetImage",               # reads the images' manifests
      "ecr:GetDownloadUrlForLayer",      # gets the layers' addresses
    ]
    resources = ["arn:${data.aws_partition.here.partition}:ecr:*:*:repository/*"] # repositories grant access
  }

  statement {
    actions   = ["ecr:GetAuthorizationToken"] # logs in to the registry; the action has no resource
    resources = ["*"]
  }

  statement {
    actions = [
      "logs:CreateLogStream", # creates a stream for each container
      "logs:PutLogEvents",    # writes the containers' output
    ]
    resources = ["${var.log_group_arn}:*"]
  }

  statement {
    actions   = ["secretsmanager:GetSecretValue"] # reads the containers' secret variables
    resources = var.secret_arns
  }
}

data "aws_partition" "here" {}

data "aws_iam_policy_document" "tasks" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["ecs-tasks.amazonaws.com"] # only ECS assumes the role, for a task
    }
  }
}

output "arn" {
  description = "Known after the role has its permissions"
  value       = aws_iam_role.this.arn
  depends_on  = [aws_iam_role_policy.this]
}

output "trust_policy" {
  description = "Lets only ECS assume a role for a task"
  value       = data.aws_iam_policy_document.tasks.json
}
