# What ECS may do to start a task. PgBouncer itself may do nothing on AWS, and has no role.
resource "aws_iam_role" "start" {
  name_prefix        = "${var.name}-"
  assume_role_policy = data.aws_iam_policy_document.tasks.json
}

data "aws_iam_policy_document" "tasks" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["ecs-tasks.amazonaws.com"] # only ECS, on behalf of a task
    }
  }
}

resource "aws_iam_role_policy_attachment" "start" {
  role       = aws_iam_role.start.name
  policy_arn = "arn:${data.aws_partition.here.partition}:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy" # images and logs
}

resource "aws_iam_role_policy" "password" {
  name_prefix = "password-"
  role        = aws_iam_role.start.id
  policy      = data.aws_iam_policy_document.password.json
}

data "aws_iam_policy_document" "password" {
  statement {
    actions   = ["secretsmanager:GetSecretValue"] # handed to the container as a variable
    resources = [var.password_secret]
  }
}

data "aws_partition" "here" {}
