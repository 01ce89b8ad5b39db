variable "name" {
  description = "Name of all resources"
  type        = string
  default     = "penstock"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,17}[a-z0-9]$", var.name))
    error_message = "name must have 3 to 19 lower-case letters, digits and hyphens, because names of load balancers have at most 32."
  }
}

# --- the network ------------------------------------------------------------------------------------------------------
variable "vpc_id" {
  description = "The network, which must resolve host names"
  type        = string
}

variable "private_subnet_ids" {
  description = "Subnets of the tasks and of the database, in at least two zones, with a NAT gateway or endpoints"
  type        = list(string)

  validation {
    condition     = length(var.private_subnet_ids) >= 2
    error_message = "private_subnet_ids must be at least two subnets in different zones."
  }
}

variable "balancer_subnet_ids" {
  description = "Subnets of the load balancer, in at least two zones; public ones unless it is internal"
  type        = list(string)

  validation {
    condition     = length(var.balancer_subnet_ids) >= 2
    error_message = "balancer_subnet_ids must be at least two subnets in different zones."
  }
}

variable "internal" {
  description = "Whether the load balancer has only private addresses"
  type        = bool
  default     = true
}

variable "client_cidrs" {
  description = "Networks from which clients can reach the load balancer"
  type        = list(string)
  nullable    = false

  validation {
    condition     = alltrue([for c in var.client_cidrs : can(cidrnetmask(c))])
    error_message = "client_cidrs must be IPv4 networks, such as 10.0.0.0/8."
  }

  # The sum of addresses counts, because two halves of the internet are the internet. All private networks together have
  # fewer addresses.
  validation {
    condition     = local.access == "sigv4" || sum(concat([0], [for c in var.client_cidrs : try(pow(2, 32 - split("/", c)[1]), 0)])) <= pow(2, 25)
    error_message = "The service verifies signatures only with QUEUE_ACCESS = \"sigv4\". Otherwise, client_cidrs can have only your own networks, with at most 2^25 addresses."
  }
}

variable "certificate_arn" {
  description = "ARN of the certificate (ACM) for the clients' host name"
  type        = string

  validation {
    condition     = startswith(var.certificate_arn, "arn:")
    error_message = "certificate_arn must be the ARN of a certificate."
  }
}

# Long polls last up to 20 s. The service keeps idle connections for 75 s, and the balancer must close them earlier.
variable "idle_timeout_seconds" {
  description = "Seconds after which the load balancer closes an idle connection"
  type        = number
  default     = 60

  validation {
    condition     = var.idle_timeout_seconds >= 30 && var.idle_timeout_seconds < 75
    error_message = "idle_timeout_seconds must be from 30 (longer than a long poll) to 74 (shorter than the service's own 75)."
  }
}

variable "deregistration_delay_seconds" {
  description = "Seconds for a stopping task's running requests"
  type        = number
  default     = 30

  validation {
    condition     = var.deregistration_delay_seconds >= 21 && var.deregistration_delay_seconds <= 300
    error_message = "deregistration_delay_seconds must be from 21 (longer than a long poll) to 300."
  }
}

variable "balancer_log_bucket" {
  description = "S3 bucket for the load balancer's access logs; its policy must let Elastic Load Balancing write; empty: no logs"
  type        = string
  default     = ""
}

# --- the service ------------------------------------------------------------------------------------------------------
variable "image" {
  description = "Image of infra/container/Dockerfile, by its digest or a tag that never moves"
  type        = string

  validation {
    condition     = !endswith(var.image, ":latest") && can(regex("(@sha256:|:[^/]+$)", var.image))
    error_message = "image must have a digest or a fixed tag, because a rollback needs the previous image."
  }
}

variable "pooler_image" {
  description = "Image of infra/container/pgbouncer/Dockerfile"
  type        = string
}

variable "architecture" {
  description = "Processor architecture of both images"
  type        = string
  default     = "ARM64"

  validation {
    condition     = contains(["ARM64", "X86_64"], var.architecture)
    error_message = "architecture must be ARM64 or X86_64."
  }
}

variable "task_cpu" {
  description = "CPU units of a task with PgBouncer (1024: one processor)"
  type        = number
  default     = 1024
}

variable "task_memory" {
  description = "Memory of a task in MiB"
  type        = number
  default     = 2048
}

variable "processes_per_task" {
  description = "Processes of the service in a task; each uses up to one processor"
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
  description = "Requests a minute to each task behind the load balancer above which more tasks start; 0: only processor time counts"
  type        = number
  default     = 0

  validation {
    condition     = var.requests_per_task >= 0
    error_message = "requests_per_task must be 0 or more."
  }
}

variable "worker_tasks" {
  description = "Separate tasks for deliveries and schedules; 0: the tasks behind the load balancer do both"
  type        = number
  default     = 0
}

variable "pool_size" {
  description = "Most connections of a PgBouncer to the database; each task has a PgBouncer"
  type        = number
  default     = 10
}

variable "lambda_functions" {
  description = "ARNs of functions that mappings, topics and schedules can invoke, with * for any characters; an ARN needs * at its end to cover aliases and versions; the default of QUEUE_LAMBDA_FUNCTIONS"
  type        = list(string)
  default     = []
}

variable "log_retention_days" {
  description = "Days for which CloudWatch keeps logs; must be one of CloudWatch's values"
  type        = number
  default     = 30
}

variable "database_class" {
  description = "Instance class of the database (docs/operate/sizing.md)"
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
  description = "Initial storage in GiB"
  type        = number
  default     = 100
}

variable "database_storage_limit_gb" {
  description = "Size in GiB up to which RDS enlarges the storage"
  type        = number
  default     = 1000

  validation {
    condition     = var.database_storage_limit_gb >= var.database_storage_gb
    error_message = "database_storage_limit_gb must be at least database_storage_gb."
  }
}

variable "database_multi_az" {
  description = "Whether a standby in another zone can take over"
  type        = bool
  default     = true
}

variable "backup_retention_days" {
  description = "Days for which the database can be restored to a point in time"
  type        = number
  default     = 7

  validation {
    condition     = var.backup_retention_days >= 1 && var.backup_retention_days <= 35
    error_message = "backup_retention_days must be from 1 to 35, because a restore to a point in time needs backups."
  }
}

variable "deletion_protection" {
  description = "Whether AWS refuses to delete the database and the load balancer"
  type        = bool
  default     = true
}

variable "database_ca_file" {
  description = "File in both images with the certificate authorities for the database (docs/operate/database.md)"
  type        = string
  default     = "/etc/penstock/rds.pem"
}

variable "password_version" {
  description = "Number to raise for a new database password (docs/operate/rotating.md)"
  type        = number
  default     = 1
}

# --- PgBouncer for Lambda functions and applications ------------------------------------------------------------------
variable "pooler_tasks" {
  description = "Tasks with a PgBouncer for clients besides the service, such as Lambda functions; 0: none"
  type        = number
  default     = 0
}

variable "pooler_client_group_ids" {
  description = "Security groups that can reach this PgBouncer, by any name: {functions = \"sg-…\"}"
  type        = map(string)
  default     = {}
}

variable "pooler_certificate_secret_arn" {
  description = "Secret with this PgBouncer's certificate: JSON with certificate and key in PEM; empty: clients connect without TLS"
  type        = string
  default     = ""
}

variable "metrics_image" {
  description = "Image of the metrics job (infra/container/Dockerfile, target metrics); empty: no job runs"
  type        = string
  default     = ""
}

variable "metrics_schedule" {
  description = "Schedule expression (EventBridge Scheduler) for the metrics job"
  type        = string
  default     = "rate(1 hour)"

  validation {
    condition     = can(regex("^(rate|cron)\\(.+\\)$", var.metrics_schedule))
    error_message = "metrics_schedule must be rate(…) or cron(…)."
  }
}

variable "metrics_cpu" {
  description = "CPU units of a run (1024: one processor)"
  type        = number
  default     = 2048
}

variable "metrics_memory" {
  description = "Memory of a run in MiB"
  type        = number
  default     = 8192
}

variable "settings" {
  description = "Settings of docs/reference/settings.md by name, such as { QUEUE_BASE_URL = \"https://queues.example.com\", QUOTA_QUEUES = 1000 }"
  type        = map(string)
  nullable    = false

  validation {
    condition     = can(regex("^(https://[^/]+)?$", lookup(var.settings, "QUEUE_BASE_URL", "")))
    error_message = "QUEUE_BASE_URL must be https://host without a path, because the load balancer only has HTTPS."
  }

  validation {
    condition     = lookup(var.settings, "QUEUE_BASE_URL", "") != "" || lookup(var.settings, "QUEUE_ALLOWED_HOSTS", "") != ""
    error_message = "The service needs the clients' host name: set QUEUE_BASE_URL or QUEUE_ALLOWED_HOSTS."
  }
}

variable "secret_settings" {
  description = "Secret settings by name: the ARN of a secret with the value, or of a secret with a JSON object, plus a key: { QUEUE_ENCRYPTION_KEY = \"arn:…:KEY::\" }"
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for arn in values(var.secret_settings) : can(regex("^arn:[a-z-]+:secretsmanager:[^:]+:[0-9]+:secret:[^:]+(:[^:]*:[^:]*:[^:]*)?$", arn))])
    error_message = "secret_settings must have ARNs of Secrets Manager's secrets."
  }

  validation {
    condition     = local.access != "sigv4" || contains(keys(var.secret_settings), "QUEUE_ENCRYPTION_KEY")
    error_message = "QUEUE_ACCESS = \"sigv4\", the default here, needs QUEUE_ENCRYPTION_KEY in secret_settings: 32 bytes in base64, from `openssl rand -base64 32`."
  }
}
