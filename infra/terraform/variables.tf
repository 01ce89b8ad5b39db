variable "name" {
  description = "Name of all resources"
  type        = string
  default     = "penstock"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,17}[a-z0-9]$", var.name))
    error_message = "name must have 3 to 19 small letters, digits and hyphens: names of load balancers have at most 32."
  }
}

# --- the network ------------------------------------------------------------------------------------------------------
variable "vpc_id" {
  description = "The network; it must resolve host names"
  type        = string
}

variable "private_subnet_ids" {
  description = "Subnets of the tasks and of the database, in two zones at least, with a way out (NAT or endpoints)"
  type        = list(string)

  validation {
    condition     = length(var.private_subnet_ids) >= 2
    error_message = "private_subnet_ids must be at least two, in different zones."
  }
}

variable "balancer_subnet_ids" {
  description = "Subnets of the load balancer, in two zones at least; public ones when it is not internal"
  type        = list(string)

  validation {
    condition     = length(var.balancer_subnet_ids) >= 2
    error_message = "balancer_subnet_ids must be at least two, in different zones."
  }
}

variable "internal" {
  description = "Whether the load balancer has private addresses only"
  type        = bool
  default     = true
}

variable "client_cidrs" {
  description = "Networks whose clients may reach the load balancer"
  type        = list(string)
  nullable    = false

  validation {
    condition     = alltrue([for c in var.client_cidrs : can(cidrnetmask(c))])
    error_message = "client_cidrs must be networks of IPv4, such as 10.0.0.0/8."
  }

  # The sum counts: two halves of the internet are the internet. All private networks together have fewer addresses.
  validation {
    condition     = local.access == "sigv4" || sum(concat([0], [for c in var.client_cidrs : try(pow(2, 32 - split("/", c)[1]), 0)])) <= pow(2, 25)
    error_message = "The service verifies signatures only with QUEUE_ACCESS = \"sigv4\". Otherwise admit only your own networks, 2^25 addresses in all."
  }
}

variable "certificate_arn" {
  description = "Certificate (ACM) of the host name that clients use"
  type        = string

  validation {
    condition     = startswith(var.certificate_arn, "arn:")
    error_message = "certificate_arn must be the ARN of a certificate."
  }
}

# Long polls last up to 20 s; the service keeps idle connections for 75 s, and the balancer must be the one that closes.
variable "idle_timeout_seconds" {
  description = "Seconds after which the load balancer closes a connection on which nothing comes"
  type        = number
  default     = 60

  validation {
    condition     = var.idle_timeout_seconds >= 30 && var.idle_timeout_seconds < 75
    error_message = "idle_timeout_seconds must be from 30 (longer than a long poll) to 74 (shorter than the service's own 75)."
  }
}

variable "deregistration_delay_seconds" {
  description = "Seconds in which a task that is about to be stopped may finish its requests"
  type        = number
  default     = 30

  validation {
    condition     = var.deregistration_delay_seconds >= 21 && var.deregistration_delay_seconds <= 300
    error_message = "deregistration_delay_seconds must be from 21 (longer than a long poll) to 300."
  }
}

variable "balancer_log_bucket" {
  description = "Bucket of S3 for the load balancer's access logs, whose policy lets Elastic Load Balancing write; empty: no logs"
  type        = string
  default     = ""
}

# --- the service ------------------------------------------------------------------------------------------------------
variable "image" {
  description = "Image of infra/container/Dockerfile, by digest or by a tag that never moves"
  type        = string

  validation {
    condition     = !endswith(var.image, ":latest") && can(regex("(@sha256:|:[^/]+$)", var.image))
    error_message = "image must name a version: a rollback goes back to the image of before."
  }
}

variable "pooler_image" {
  description = "Image of infra/container/pgbouncer/Dockerfile"
  type        = string
}

variable "architecture" {
  description = "Processor that both images are built for"
  type        = string
  default     = "ARM64"

  validation {
    condition     = contains(["ARM64", "X86_64"], var.architecture)
    error_message = "architecture must be ARM64 or X86_64."
  }
}

variable "task_cpu" {
  description = "CPU units of a task (1024: one processor), those of PgBouncer included"
  type        = number
  default     = 1024
}

variable "task_memory" {
  description = "Memory of a task in MiB"
  type        = number
  default     = 2048
}

variable "processes_per_task" {
  description = "Processes of the service in a task; one uses up to one processor"
  type        = number
  default     = 1
}

variable "service_tasks" {
  description = "Least and most tasks behind the load balancer"
  type        = object({ least = number, most = number })
  default     = { least = 2, most = 6 }

  validation {
    condition     = var.service_tasks.least >= 1 && var.service_tasks.most >= var.service_tasks.least
    error_message = "service_tasks needs 1 <= least <= most."
  }
}

variable "requests_per_task" {
  description = "More tasks start also when each behind the load balancer gets more requests a minute; 0: only processor time decides"
  type        = number
  default     = 0

  validation {
    condition     = var.requests_per_task >= 0
    error_message = "requests_per_task must be 0 or more."
  }
}

variable "worker_tasks" {
  description = "Separate tasks for deliveries and schedules; 0: those behind the load balancer do both"
  type        = number
  default     = 0
}

variable "pool_size" {
  description = "Most connections of one PgBouncer to the database; each task has one PgBouncer"
  type        = number
  default     = 10
}

variable "lambda_functions" {
  description = "ARNs of functions that mappings, topics and schedules may invoke, with * for any characters; one without * at its end covers no alias and no version. The default of QUEUE_LAMBDA_FUNCTIONS"
  type        = list(string)
  default     = []
}

variable "log_retention_days" {
  description = "How long CloudWatch keeps logs, in days; one of the values that CloudWatch has"
  type        = number
  default     = 30
}

variable "database_class" {
  description = "Instance class of the database; docs/operate/sizing.md helps to choose"
  type        = string
  default     = "db.m7g.large"
}

variable "database_version" {
  description = "Major version of PostgreSQL"
  type        = string
  default     = "17"

  validation {
    condition     = can(tonumber(var.database_version)) && tonumber(var.database_version) >= 15
    error_message = "database_version must be 15 or newer, without a minor version."
  }
}

variable "database_storage_gb" {
  description = "Storage to begin with, in GiB"
  type        = number
  default     = 100
}

variable "database_storage_limit_gb" {
  description = "Size up to which RDS enlarges the storage, in GiB"
  type        = number
  default     = 1000

  validation {
    condition     = var.database_storage_limit_gb >= var.database_storage_gb
    error_message = "database_storage_limit_gb must not be less than database_storage_gb."
  }
}

variable "database_multi_az" {
  description = "Keep a standby in another zone, which takes over"
  type        = bool
  default     = true
}

variable "backup_retention_days" {
  description = "Days back to which the database can be restored to a point in time"
  type        = number
  default     = 7

  validation {
    condition     = var.backup_retention_days >= 1 && var.backup_retention_days <= 35
    error_message = "backup_retention_days must be from 1 to 35: without it there is no restore to a point in time."
  }
}

variable "deletion_protection" {
  description = "Refuse to delete the database and the load balancer"
  type        = bool
  default     = true
}

variable "database_ca_file" {
  description = "File in both images with the authorities that the database's certificate may be of (docs/operate/database.md)"
  type        = string
  default     = "/etc/penstock/rds.pem"
}

variable "password_version" {
  description = "Raise it for a new password of the database (docs/operate/rotating.md)"
  type        = number
  default     = 1
}

# --- PgBouncer for Lambda functions and applications ------------------------------------------------------------------
variable "pooler_tasks" {
  description = "Tasks of a PgBouncer for other clients than the service, such as Lambda functions; 0: none"
  type        = number
  default     = 0
}

variable "pooler_client_group_ids" {
  description = "Security groups that may reach this PgBouncer, by any name: {functions = \"sg-…\"}"
  type        = map(string)
  default     = {}
}

variable "pooler_certificate_secret_arn" {
  description = "Secret with the certificate of this PgBouncer, JSON with certificate and key in PEM; empty: clients connect without TLS"
  type        = string
  default     = ""
}

variable "metrics_image" {
  description = "Image of the metrics job (infra/container/Dockerfile, target metrics); empty: no job runs"
  type        = string
  default     = ""
}

variable "metrics_schedule" {
  description = "When the metrics job runs: an expression of EventBridge Scheduler"
  type        = string
  default     = "rate(1 hour)"

  validation {
    condition     = can(regex("^(rate|cron)\\(.+\\)$", var.metrics_schedule))
    error_message = "metrics_schedule must be rate(…) or cron(…)."
  }
}

variable "metrics_cpu" {
  description = "Processor of a run, in CPU units: 1024 are one"
  type        = number
  default     = 2048
}

variable "metrics_memory" {
  description = "Memory of a run, in MiB"
  type        = number
  default     = 8192
}

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
