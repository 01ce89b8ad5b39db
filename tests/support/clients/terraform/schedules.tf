# Schedules and schedule groups with the provider's arguments.

locals {
  role = "arn:aws:iam::111122223333:role/service-role/scheduler"
}

resource "aws_sqs_queue" "jobs" {
  name = "jobs"
}

resource "aws_sqs_queue" "ordered_jobs" {
  name                        = "ordered-jobs.fifo"
  fifo_queue                  = true
  content_based_deduplication = true
}

resource "aws_sqs_queue" "failed" {
  name = "failed"
}

resource "aws_sns_topic" "news" {
  name = "news"
}

resource "aws_scheduler_schedule_group" "batch" {
  name = "batch"
  tags = var.changed ? { kept = "changed", new = "1" } : { kept = "first", gone = "grüße" }
}

resource "aws_scheduler_schedule_group" "prefixed" {
  name_prefix = "prefixed-"
}

resource "aws_scheduler_schedule" "minimal" {
  name                = "minimal"
  schedule_expression = var.changed ? "rate(8 hours)" : "rate(7 hours)"

  flexible_time_window {
    mode = "OFF"
  }

  target {
    arn      = aws_sqs_queue.jobs.arn
    role_arn = local.role
  }
}

resource "aws_scheduler_schedule" "every_argument" {
  name                         = "every.argument_1"
  group_name                   = aws_scheduler_schedule_group.batch.name
  description                  = var.changed ? null : "päckchen"
  schedule_expression          = var.changed ? "cron(15 10 ? * 6L 2036-2040)" : "cron(0/15 8-17 ? * MON-FRI *)"
  schedule_expression_timezone = var.changed ? "UTC" : "Europe/Berlin"
  start_date                   = var.changed ? "2036-02-01T00:00:00Z" : "2036-01-01T00:00:00Z"
  end_date                     = var.changed ? "2039-01-01T00:00:00Z" : "2037-01-01T00:00:00Z"
  state                        = var.changed ? "ENABLED" : "DISABLED"
  kms_key_arn                  = "arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"

  flexible_time_window {
    mode                      = "FLEXIBLE"
    maximum_window_in_minutes = var.changed ? 1 : 1440
  }

  target {
    arn      = aws_sqs_queue.ordered_jobs.arn
    role_arn = local.role
    input    = jsonencode({ at = "<aws.scheduler.scheduled-time>", changed = var.changed })

    dead_letter_config {
      arn = aws_sqs_queue.failed.arn
    }

    retry_policy {
      maximum_event_age_in_seconds = var.changed ? 86400 : 60
      maximum_retry_attempts       = var.changed ? 185 : 0
    }

    sqs_parameters {
      message_group_id = var.changed ? "second" : "first"
    }
  }
}

resource "aws_scheduler_schedule" "once" {
  name_prefix         = "once-"
  group_name          = aws_scheduler_schedule_group.prefixed.name
  schedule_expression = var.changed ? "at(2036-12-31T23:59:59)" : "at(2036-02-29T12:00:00)"

  flexible_time_window {
    mode = var.changed ? "FLEXIBLE" : "OFF"

    maximum_window_in_minutes = var.changed ? 15 : null
  }

  target {
    arn      = aws_sns_topic.news.arn
    role_arn = local.role
    input    = "text"
  }
}

output "once" {
  value = aws_scheduler_schedule.once.name
}
