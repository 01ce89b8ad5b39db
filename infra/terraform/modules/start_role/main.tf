# What ECS may do to start a task.

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
      "ecr:BatchCheckLayerAvailability", # which layers of the images are there
      "ecr:BatchGetImage",               # what the images consist of
      "ecr:GetDownloadUrlForLayer",      # where the layers are
    ]
    resources = ["arn:${data.aws_partition.here.partition}:ecr:*:*:repository/*"] # their owners say who may read them
  }

  statement {
    actions   = ["ecr:GetAuthorizationToken"] # to log in to the registry; it knows no resource
    resources = ["*"]
  }

  statement {
    actions = [
      "logs:CreateLogStream", # one for each container of a task
      "logs:PutLogEvents",    # what the containers write
    ]
    resources = ["${var.log_group_arn}:*"]
  }

  statement {
    actions   = ["secretsmanager:GetSecretValue"] # handed to the containers as variables
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
