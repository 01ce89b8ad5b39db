# Every setting of docs/reference/settings.md, with its bounds. Written by `make generate`.
locals {
  boolean_words = ["true", "1", "yes", "on", "false", "0", "no", "off"]

  known_settings = {
    DATABASE_URL                         = { type = "string", default = "", secret = true }
    DATABASE_DIRECT_URL                  = { type = "string", default = "", secret = true }
    QUEUE_SECRET                         = { type = "string", default = "" }
    QUEUE_DATABASE_AUTH                  = { type = "string", default = "password", choices = ["password", "iam"] }
    QUEUE_MAX_CONNECTIONS                = { type = "integer", default = "10", minimum = 1, maximum = 2147483647 }
    QUEUE_POOL_TIMEOUT_MS                = { type = "integer", default = "2000", minimum = 1, maximum = 2147483647 }
    QUEUE_DATABASE_CALL_TIMEOUT_MS       = { type = "integer", default = "8000", minimum = 100, maximum = 2147483647 }
    QUEUE_DATABASE_DRIVER                = { type = "string", default = "psycopg", choices = ["psycopg", "pg8000"] }
    QUEUE_ADDRESS                        = { type = "string", default = "0.0.0.0:9324", pattern = ".+:[0-9]{1,5}" }
    QUEUE_BASE_URL                       = { type = "string", default = "", pattern = "https?://[!-.0-~][!-~]*" }
    QUEUE_ALLOWED_HOSTS                  = { type = "string", default = "", pattern = "[A-Za-z0-9_.*:\\[\\], -]+" }
    QUEUE_TRUST_FORWARDED                = { type = "boolean", default = "false" }
    QUEUE_ACCOUNT_ID                     = { type = "string", default = "000000000000", pattern = "[0-9]{12}" }
    QUEUE_REGION                         = { type = "string", default = "us-east-1", pattern = "[a-z0-9-]{1,32}" }
    QUEUE_REGIONS                        = { type = "string", default = "", pattern = "[a-z0-9, -]+" }
    QUEUE_ACCESS                         = { type = "string", default = "off", choices = ["off", "presence", "sigv4"] }
    QUEUE_ENCRYPTION_KEY                 = { type = "string", default = "", secret = true }
    QUEUE_ACCESS_CACHE_SECONDS           = { type = "integer", default = "30", minimum = 0, maximum = 2147483647 }
    QUEUE_REFUSE_KMS                     = { type = "boolean", default = "false" }
    QUEUE_CONSOLE                        = { type = "string", default = "", choices = ["off", "read", "full"] }
    QUEUE_MCP                            = { type = "boolean", default = "false" }
    QUEUE_PEEK_ENDPOINT                  = { type = "boolean", default = "false" }
    QUEUE_LOCALSTACK_HEALTH              = { type = "boolean", default = "false" }
    QUEUE_DEFAULT_VISIBILITY_TIMEOUT     = { type = "integer", default = "30", minimum = 0, maximum = 43200 }
    QUEUE_IN_FLIGHT_LIMIT                = { type = "integer", default = "120000", minimum = 0, maximum = 2147483647 }
    QUEUE_PURGE_INTERVAL_SECONDS         = { type = "integer", default = "60", minimum = 0, maximum = 2147483647 }
    QUEUE_RECREATE_INTERVAL_SECONDS      = { type = "integer", default = "60", minimum = 0, maximum = 2147483647 }
    QUEUE_SHARDS                         = { type = "integer", default = "4", minimum = 1, maximum = 64 }
    QUEUE_REQUEST_TIMEOUT_SECONDS        = { type = "integer", default = "30", minimum = 1, maximum = 2147483647 }
    QUEUE_LINGER_MS                      = { type = "integer", default = "0", minimum = 0, maximum = 2147483647 }
    QUEUE_BATCH_LIMIT                    = { type = "integer", default = "16384", minimum = 1, maximum = 2147483647 }
    QUEUE_DRAIN_SECONDS                  = { type = "integer", default = "4", minimum = 0, maximum = 2147483647 }
    QUOTA_REQUESTS_PER_SECOND            = { type = "integer", default = "0", minimum = 0, maximum = 2147483647 }
    QUOTA_QUEUES                         = { type = "integer", default = "100000", minimum = 0, maximum = 2147483647 }
    QUOTA_TOPICS                         = { type = "integer", default = "100000", minimum = 0, maximum = 2147483647 }
    QUOTA_SUBSCRIPTIONS                  = { type = "integer", default = "12500000", minimum = 0, maximum = 2147483647 }
    QUOTA_SCHEDULES                      = { type = "integer", default = "10000000", minimum = 0, maximum = 2147483647 }
    QUOTA_FIRINGS_PER_SECOND             = { type = "integer", default = "1000", minimum = 0, maximum = 2147483647 }
    QUOTA_MAPPINGS                       = { type = "integer", default = "10000", minimum = 0, maximum = 2147483647 }
    QUOTA_EVENT_BUSES                    = { type = "integer", default = "5", minimum = 0, maximum = 2147483647 }
    QUOTA_EVENT_SUBSCRIBERS              = { type = "integer", default = "10000", minimum = 0, maximum = 2147483647 }
    QUOTA_EVENT_SOURCES                  = { type = "integer", default = "200", minimum = 0, maximum = 2147483647 }
    QUOTA_CONNECTIONS                    = { type = "integer", default = "3000", minimum = 0, maximum = 2147483647 }
    QUOTA_API_DESTINATIONS               = { type = "integer", default = "3000", minimum = 0, maximum = 2147483647 }
    QUOTA_DELIVERIES                     = { type = "integer", default = "1000000", minimum = 0, maximum = 2147483647 }
    QUOTA_PLATFORM_APPLICATIONS          = { type = "integer", default = "10000", minimum = 0, maximum = 2147483647 }
    QUOTA_PLATFORM_ENDPOINTS             = { type = "integer", default = "10000000", minimum = 0, maximum = 2147483647 }
    QUOTA_OPTED_OUT_NUMBERS              = { type = "integer", default = "1000000", minimum = 0, maximum = 2147483647 }
    SNS_TOPIC_FILTER_POLICIES            = { type = "integer", default = "200", minimum = 0, maximum = 2147483647 }
    SNS_ACCOUNT_FILTER_POLICIES          = { type = "integer", default = "10000", minimum = 0, maximum = 2147483647 }
    SNS_CERT_HOST                        = { type = "string", default = "", pattern = "[A-Za-z0-9.-]+(?::[0-9]{1,5})?" }
    QUEUE_HTTP_DELIVERY_ENABLED          = { type = "boolean", default = "true" }
    QUEUE_HTTP_DELIVERY_POLL_MS          = { type = "integer", default = "1000", minimum = 10, maximum = 2147483647 }
    QUEUE_HTTP_DELIVERY_TIMEOUT_SECS     = { type = "integer", default = "5", minimum = 1, maximum = 15 }
    QUEUE_HTTP_DELIVERY_BATCH_SIZE       = { type = "integer", default = "50", minimum = 1, maximum = 1000 }
    WEBHOOK_ALLOW_CIDRS                  = { type = "string", default = "" }
    WEBHOOK_SIGNING_SECRET               = { type = "string", default = "", secret = true }
    WEBHOOK_LOG_RESPONSES                = { type = "boolean", default = "false" }
    SNS_SMTP_URL                         = { type = "string", default = "", secret = true }
    SNS_MAIL_FROM                        = { type = "string", default = "" }
    SNS_GATEWAY_URL                      = { type = "string", default = "", pattern = "https?://(?:\\[[0-9A-Fa-f:.]{2,45}\\]|[A-Za-z0-9_-]+(?:\\.[A-Za-z0-9_-]+)*)(?::[0-9]{1,5})?(?:[/?][!-~]*)?" }
    SNS_OUTBOX_DAYS                      = { type = "integer", default = "7", minimum = 1, maximum = 3650 }
    QUOTA_CONFIRMATION_MAILS             = { type = "integer", default = "10", minimum = 0, maximum = 2147483647 }
    QUOTA_TEXT_MESSAGES                  = { type = "integer", default = "1000", minimum = 0, maximum = 2147483647 }
    QUOTA_OUTBOX                         = { type = "integer", default = "100000", minimum = 0, maximum = 2147483647 }
    QUEUE_SCHEDULE_ENABLED               = { type = "boolean", default = "true" }
    QUEUE_SCHEDULE_POLL_MS               = { type = "integer", default = "1000", minimum = 1, maximum = 2147483647 }
    QUEUE_SCHEDULE_BATCH_SIZE            = { type = "integer", default = "32", minimum = 1, maximum = 1000 }
    QUEUE_SCHEDULE_MISFIRE_GRACE_SECONDS = { type = "integer", default = "60", minimum = 0, maximum = 2147483647 }
    QUEUE_SCHEDULE_HISTORY_SECONDS       = { type = "integer", default = "604800", minimum = 60, maximum = 2147483647 }
    QUEUE_SCHEDULE_PREVIEW_COUNT         = { type = "integer", default = "5", minimum = 1, maximum = 100 }
    QUEUE_SCHEDULE_LIST_MAX              = { type = "integer", default = "1000", minimum = 1, maximum = 2147483647 }
    QUEUE_LAMBDA_ENDPOINT                = { type = "string", default = "" }
    QUEUE_LAMBDA_FUNCTIONS               = { type = "string", default = "" }
    QUEUE_MAINTAIN_INTERVAL_MS           = { type = "integer", default = "2000", minimum = 1, maximum = 2147483647 }
    QUEUE_MOVE_INTERVAL_MS               = { type = "integer", default = "1000", minimum = 1, maximum = 2147483647 }
    QUEUE_IDLE_CHECK_MS                  = { type = "integer", default = "30000", minimum = 10, maximum = 2147483647 }
    QUEUE_HISTORY_DAYS                   = { type = "integer", default = "30", minimum = 1, maximum = 2147483647 }
    QUEUE_METRICS_DAYS                   = { type = "integer", default = "30", minimum = 1, maximum = 36500 }
    QUEUE_METRICS_TIMEZONE               = { type = "string", default = "UTC", pattern = "[A-Za-z0-9_+/-]+" }
    QUEUE_METRICS_TOKEN                  = { type = "string", default = "", secret = true }
    QUEUE_METRICS_MAX_QUEUES             = { type = "integer", default = "1000", minimum = 0, maximum = 100000 }
    QUEUE_METRICS_INTERVAL_MS            = { type = "integer", default = "10000", minimum = 100, maximum = 2147483647 }
    QUEUE_ALERT_URL                      = { type = "string", default = "", pattern = "(?:(?:json|slack|teams|pagerduty)\\+)?https?://(?:\\[[0-9A-Fa-f:.]{2,45}\\]|[A-Za-z0-9_-]+(?:\\.[A-Za-z0-9_-]+)*)(?::[0-9]{1,5})?(?:[/?][!-~]*)?", secret = true }
    QUEUE_ALERT_EMAIL                    = { type = "string", default = "" }
    QUEUE_ALERT_INTERVAL_MS              = { type = "integer", default = "10000", minimum = 100, maximum = 2147483647 }
    QUEUE_ALERT_EVALUATIONS              = { type = "integer", default = "2", minimum = 1, maximum = 1000 }
    QUEUE_ALERT_PAUSE_SECONDS            = { type = "integer", default = "600", minimum = 0, maximum = 2147483647 }
    LOG_LEVEL                            = { type = "string", default = "info", choices = ["debug", "info", "warning", "error", "critical"] }
    ACCESS_LOG                           = { type = "string", default = "off", choices = ["off", "stdout", "stderr"] }
    OTLP_ENABLED                         = { type = "boolean", default = "false" }
    OTLP_ENDPOINT                        = { type = "string", default = "http://localhost:4317", pattern = "https?://[!-.0-~][!-~]*" }
    OTLP_SERVICE_NAME                    = { type = "string", default = "penstock" }
    OTLP_SAMPLE_RATE                     = { type = "number", default = "0.1", minimum = 0, maximum = 1 }
    QUEUE_LAMBDA_WAIT_SECONDS            = { type = "integer", default = "2", minimum = 0, maximum = 20 }
    QUEUE_LAMBDA_CONCURRENCY             = { type = "integer", default = "0", minimum = 0, maximum = 2147483647 }
    QUEUE_LAMBDA_WORKER_SECONDS          = { type = "integer", default = "65", minimum = 0, maximum = 70 }
    QUEUE_LAMBDA_MAPPINGS                = { type = "boolean", default = "false" }
    QUEUE_USAGE_METRICS                  = { type = "boolean", default = "false" }
    QUEUE_TRACING                        = { type = "boolean", default = "false" }
  }
}
