# Queues with the provider's arguments.

locals {
  send = {
    Effect    = "Allow"
    Principal = { AWS = "arn:aws:iam::111122223333:root" }
    Action    = "sqs:SendMessage"
  }
}

resource "aws_sqs_queue" "plain" {
  name = "plain"
}

resource "aws_sqs_queue" "prefixed" {
  name_prefix = "prefixed-"
  fifo_queue  = false
}

resource "aws_sqs_queue" "prefixed_fifo" {
  name_prefix = "prefixed-"
  fifo_queue  = true
}

resource "aws_sqs_queue" "every_number" {
  name                       = "every-number"
  delay_seconds              = var.changed ? 0 : 900
  max_message_size           = var.changed ? 262144 : 1024
  message_retention_seconds  = var.changed ? 60 : 1209600
  receive_wait_time_seconds  = var.changed ? 0 : 20
  visibility_timeout_seconds = var.changed ? 43200 : 0
  tags                       = var.changed ? { kept = "changed", new = "" } : { kept = "first", gone = "grüße = + - : / @" }
}

# Redrive and access policies as the queue's arguments.

resource "aws_sqs_queue" "dead" {
  name = "dead"
}

resource "aws_sqs_queue" "work" {
  name   = "work"
  policy = jsonencode({ Version = "2012-10-17", Statement = [merge(local.send, { Resource = "*" })] })
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead.arn
    maxReceiveCount     = var.changed ? 1000 : 1
  })
  redrive_allow_policy = jsonencode({ redrivePermission = var.changed ? "allowAll" : "denyAll" })
  tags                 = { of = "work" }
}

# The same policies as separate resources.

resource "aws_sqs_queue" "apart_dead" {
  name       = "apart-dead.fifo"
  fifo_queue = true
}

resource "aws_sqs_queue" "apart" {
  name                        = "apart.fifo"
  fifo_queue                  = true
  content_based_deduplication = !var.changed
}

resource "aws_sqs_queue_policy" "apart" {
  queue_url = aws_sqs_queue.apart.id
  policy = jsonencode({
    Version = "2012-10-17"
    Id      = "apart"
    Statement = [merge(local.send, {
      Sid       = var.changed ? "second" : "first"
      Resource  = aws_sqs_queue.apart.arn
      Condition = { ArnEquals = { "aws:SourceArn" = "arn:aws:sns:us-east-1:111122223333:news" } }
    })]
  })
}

resource "aws_sqs_queue_redrive_policy" "apart" {
  queue_url = aws_sqs_queue.apart.id
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.apart_dead.arn
    maxReceiveCount     = var.changed ? 3 : 2
  })
}

resource "aws_sqs_queue_redrive_allow_policy" "apart_dead" {
  queue_url = aws_sqs_queue.apart_dead.id
  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = var.changed ? [aws_sqs_queue.apart.arn, aws_sqs_queue.apart_dead.arn] : [aws_sqs_queue.apart.arn]
  })
}

resource "aws_sqs_queue" "high_throughput" {
  name                  = "high-throughput.fifo"
  fifo_queue            = true
  deduplication_scope   = var.changed ? "queue" : "messageGroup"
  fifo_throughput_limit = var.changed ? "perQueue" : "perMessageGroupId"
}

# Encryption changes between a key, the service's key, managed encryption, and none.

resource "aws_sqs_queue" "key" {
  name                              = "key"
  kms_master_key_id                 = var.changed ? "alias/aws/sqs" : "alias/mine"
  kms_data_key_reuse_period_seconds = var.changed ? 60 : 86400
}

resource "aws_sqs_queue" "key_to_managed" {
  name                    = "key-to-managed"
  kms_master_key_id       = var.changed ? null : "alias/aws/sqs"
  sqs_managed_sse_enabled = var.changed ? true : null
}

resource "aws_sqs_queue" "managed_to_key" {
  name                    = "managed-to-key"
  kms_master_key_id       = var.changed ? "alias/aws/sqs" : null
  sqs_managed_sse_enabled = var.changed ? null : true
}

resource "aws_sqs_queue" "unencrypted" {
  name                    = "unencrypted"
  sqs_managed_sse_enabled = var.changed
}

# Changes that need a new queue with another name, and data sources for existing queues.

resource "aws_sqs_queue" "renamed" {
  name = var.changed ? "renamed" : "to-be-renamed"
}

data "aws_sqs_queue" "work" {
  name = aws_sqs_queue.work.name
}

data "aws_sqs_queues" "apart" {
  queue_name_prefix = "apart"
  depends_on        = [aws_sqs_queue.apart, aws_sqs_queue.apart_dead]
}

output "work" {
  value = data.aws_sqs_queue.work
}

output "apart" {
  value = data.aws_sqs_queues.apart.queue_urls
}

output "urls" {
  value = {
    prefixed      = aws_sqs_queue.prefixed.url
    prefixed_fifo = aws_sqs_queue.prefixed_fifo.url
  }
}
