variable "settings" {
  description = "Settings of docs/reference/settings.md by name, such as { QUEUE_BASE_URL = \"https://queues.example.com\", QUOTA_QUEUES = 1000 }"
  type        = map(string)
  nullable    = false

  validation {
    condition     = can(regex("^(https://[^/]+)?$", lookup(var.settings, "QUEUE_BASE_URL", "")))
    error_message = "QUEUE_BASE_URL must be https://host, without a path: the load balancer only speaks HTTPS."
  }

  validation {
    condition     = lookup(var.settings, "QUEUE_BASE_URL", "") != "" || lookup(var.settings, "QUEUE_ALLOWED_HOSTS", "") != ""
    error_message = "The service must know the host name that clients use: set QUEUE_BASE_URL, or QUEUE_ALLOWED_HOSTS."
  }
}

variable "secret_settings" {
  description = "Settings that are secrets, by name: the ARN of a secret with the value, or of one that is a JSON object, with a key: { QUEUE_ENCRYPTION_KEY = \"arn:…:KEY::\" }"
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for arn in values(var.secret_settings) : can(regex("^arn:[a-z-]+:secretsmanager:[^:]+:[0-9]+:secret:[^:]+(:[^:]*:[^:]*:[^:]*)?$", arn))])
    error_message = "secret_settings must have ARNs of secrets of Secrets Manager."
  }

  validation {
    condition     = local.access != "sigv4" || contains(keys(var.secret_settings), "QUEUE_ENCRYPTION_KEY")
    error_message = "QUEUE_ACCESS = \"sigv4\", the default here, needs QUEUE_ENCRYPTION_KEY in secret_settings: 32 bytes in base64, from `openssl rand -base64 32`."
  }
}
