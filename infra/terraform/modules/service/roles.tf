data "aws_iam_policy_document" "tasks" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["ecs-tasks.amazonaws.com"] # only ECS, on behalf of a task
    }
  }
}

# What ECS may do to start a task.
resource "aws_iam_role" "start" {
  name_prefix        = "${var.name}-start-"
  assume_role_policy = data.aws_iam_policy_document.tasks.json
}

resource "aws_iam_role_policy" "start" {
  name_prefix = "start-"
  role        = aws_iam_role.start.id
  policy      = data.aws_iam_policy_document.start.json
}

data "aws_iam_policy_document" "start" {
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
    resources = ["${aws_cloudwatch_log_group.this.arn}:*"]
  }

  statement {
    actions   = ["secretsmanager:GetSecretValue"] # handed to the containers as variables
    resources = distinct(concat([var.password_secret], values(var.secrets)))
  }
}

# What the service itself may do on AWS: nothing.
resource "aws_iam_role" "task" {
  name_prefix        = "${var.name}-task-"
  assume_role_policy = data.aws_iam_policy_document.tasks.json
}

data "aws_partition" "here" {}
