# Event source mappings with the provider's arguments.

resource "aws_sqs_queue" "triggers" {
  name                       = "triggers"
  visibility_timeout_seconds = 60
}

resource "aws_sqs_queue" "triggers_in_order" {
  name       = "triggers-in-order.fifo"
  fifo_queue = true
}

resource "aws_lambda_event_source_mapping" "minimal" {
  event_source_arn = aws_sqs_queue.triggers_in_order.arn
  function_name    = "minimal"
}

resource "aws_lambda_event_source_mapping" "every_argument" {
  event_source_arn                   = aws_sqs_queue.triggers.arn
  function_name                      = var.changed ? "arn:aws:lambda:us-east-1:${var.account}:function:other:live" : "handler"
  enabled                            = var.changed
  batch_size                         = var.changed ? 5 : 100
  maximum_batching_window_in_seconds = var.changed ? 0 : 20
  function_response_types            = var.changed ? [] : ["ReportBatchItemFailures"]
  tags                               = var.changed ? { kept = "changed", new = "1" } : { kept = "first", gone = "grüße" }

  scaling_config {
    maximum_concurrency = var.changed ? 1000 : 2
  }

  filter_criteria {
    filter {
      pattern = var.changed ? jsonencode({ body = { kind = ["order"] } }) : jsonencode({ body = { kind = ["order", { prefix = "re" }] } })
    }

    dynamic "filter" {
      for_each = var.changed ? [] : [1]
      content {
        pattern = jsonencode({ body = { total = [{ numeric = [">", 100] }] } })
      }
    }
  }
}

output "ids" {
  value = {
    minimal        = aws_lambda_event_source_mapping.minimal.id
    every_argument = aws_lambda_event_source_mapping.every_argument.id
  }
}
