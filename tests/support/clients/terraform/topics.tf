# Topics and subscriptions with the provider's arguments.

resource "aws_sns_topic" "orders" {
  name              = "orders"
  display_name      = var.changed ? "All orders" : "Orders"
  signature_version = var.changed ? 2 : 1
  tracing_config    = var.changed ? "Active" : "PassThrough"
  delivery_policy = jsonencode({
    http = {
      defaultHealthyRetryPolicy = {
        minDelayTarget     = 5
        maxDelayTarget     = var.changed ? 60 : 20
        numRetries         = 3
        numMaxDelayRetries = 0
        numNoDelayRetries  = 0
        numMinDelayRetries = 0
        backoffFunction    = "exponential"
      }
      disableSubscriptionOverrides = false
      defaultRequestPolicy         = { headerContentType = "text/plain; charset=UTF-8" }
    }
  })
  tags = var.changed ? { kept = "changed", new = "" } : { kept = "first", gone = "grüße" }
}

resource "aws_sns_topic" "prefixed" {
  name_prefix = "prefixed-"
}

resource "aws_sns_topic" "key" {
  name              = "key"
  kms_master_key_id = var.changed ? "alias/aws/sns" : "alias/mine"
}

resource "aws_sns_topic" "ordered" {
  name                        = "ordered.fifo"
  fifo_topic                  = true
  content_based_deduplication = !var.changed
  fifo_throughput_scope       = var.changed ? "Topic" : "MessageGroup"
}

resource "aws_sns_topic_policy" "orders" {
  arn = aws_sns_topic.orders.arn
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = var.changed ? "second" : "first"
      Effect    = "Allow"
      Principal = { AWS = "arn:aws:iam::111122223333:root" }
      Action    = ["sns:Publish", "sns:Subscribe"]
      Resource  = aws_sns_topic.orders.arn
    }]
  })
}

resource "aws_sqs_queue" "orders" {
  name = "orders"
}

resource "aws_sqs_queue" "large" {
  name = "large"
}

resource "aws_sqs_queue" "body" {
  name = "body"
}

resource "aws_sqs_queue" "ordered" {
  name       = "ordered.fifo"
  fifo_queue = true
}

resource "aws_sqs_queue" "undeliverable" {
  name = "undeliverable"
}

resource "aws_sns_topic_subscription" "orders" {
  topic_arn            = aws_sns_topic.orders.arn
  protocol             = "sqs"
  endpoint             = aws_sqs_queue.orders.arn
  raw_message_delivery = var.changed
}

resource "aws_sns_topic_subscription" "large" {
  topic_arn = aws_sns_topic.orders.arn
  protocol  = "sqs"
  endpoint  = aws_sqs_queue.large.arn
  filter_policy = jsonencode({
    size     = [{ numeric = [">=", 10, "<", var.changed ? 100 : 1000] }]
    store    = ["example", { prefix = "exa" }, { suffix = "ple" }, { "equals-ignore-case" = "EXAMPLE" }]
    customer = [{ "anything-but" = { prefix = var.changed ? "trial" : "test" } }]
    address  = [{ cidr = "10.0.0.0/8" }]
    coupon   = [{ exists = false }]
  })
  redrive_policy = jsonencode({ deadLetterTargetArn = aws_sqs_queue.undeliverable.arn })
}

resource "aws_sns_topic_subscription" "body" {
  topic_arn           = aws_sns_topic.orders.arn
  protocol            = "sqs"
  endpoint            = aws_sqs_queue.body.arn
  filter_policy_scope = "MessageBody"
  filter_policy = jsonencode({
    order = { lines = { sku = [{ wildcard = var.changed ? "a*z" : "*z" }] } }
    "$or" = [{ kind = ["large"] }, { total = [{ numeric = ["=", 100] }] }]
  })
}

resource "aws_sns_topic_subscription" "ordered" {
  topic_arn           = aws_sns_topic.ordered.arn
  protocol            = "sqs"
  endpoint            = aws_sqs_queue.ordered.arn
  filter_policy_scope = "MessageAttributes"
  filter_policy       = jsonencode({ kind = var.changed ? ["a", "b"] : ["a"] })
}
