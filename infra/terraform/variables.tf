variable "name" {
  description = "Name of everything that is made"
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

  # In all: the internet in two halves is the internet. All private networks together have fewer addresses.
  validation {
    condition     = var.access == "sigv4" || sum(concat([0], [for c in var.client_cidrs : try(pow(2, 32 - split("/", c)[1]), 0)])) <= pow(2, 25)
    error_message = "Without access = \"sigv4\" nobody's signature is verified: do not let in more than your own networks, 2^25 addresses in all."
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

variable "base_url" {
  description = "Start of queue URLs, such as https://queues.example.com; empty: the address that the client used"
  type        = string
  default     = ""

  validation {
    condition     = var.base_url == "" || can(regex("^https://[^/]+$", var.base_url))
    error_message = "base_url must be https://host, without a path."
  }

  validation {
    condition     = var.base_url != "" || length(var.allowed_hosts) > 0
    error_message = "The service must know the host name that clients use: set base_url, or allowed_hosts."
  }
}

variable "allowed_hosts" {
  description = "QUEUE_ALLOWED_HOSTS: host names that clients use besides that of base_url, such as *.example.com"
  type        = list(string)
  default     = []
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
  description = "Bucket of S3 for the load balancer's access logs, whose policy lets Elastic Load Balancing write; empty: none are written"
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
  description = "More tasks also when those behind the load balancer get more requests a minute than this, each; 0: processor time alone decides"
  type        = number
  default     = 0

  validation {
    condition     = var.requests_per_task >= 0
    error_message = "requests_per_task must be 0 or more."
  }
}

variable "worker_tasks" {
  description = "Tasks for webhooks and schedules alone; 0: those behind the load balancer do it"
  type        = number
  default     = 0
}

variable "connections_per_process" {
  description = "QUEUE_MAX_CONNECTIONS: most connections of a process; half of them, up to four, straight to the database"
  type        = number
  default     = 10
}

variable "pool_size" {
  description = "Most connections of one PgBouncer to the database; each task has one PgBouncer"
  type        = number
  default     = 10
}

variable "account_id" {
  description = "QUEUE_ACCOUNT_ID: account of callers whose access key id is not itself an account id"
  type        = string
  default     = "000000000000"

  validation {
    condition     = can(regex("^[0-9]{12}$", var.account_id))
    error_message = "account_id must have 12 digits."
  }
}

variable "access" {
  description = "QUEUE_ACCESS: who may call (docs/access.md)"
  type        = string
  default     = "sigv4"

  validation {
    condition     = contains(["off", "presence", "sigv4"], var.access)
    error_message = "access must be off, presence or sigv4."
  }

  validation {
    condition     = var.access != "sigv4" || var.encryption_key_secret_arn != ""
    error_message = "access = \"sigv4\" needs encryption_key_secret_arn."
  }
}

variable "encryption_key_secret_arn" {
  description = "Secret with QUEUE_ENCRYPTION_KEY: 32 bytes in base64, made by `openssl rand -base64 32`"
  type        = string
  default     = ""
}

variable "webhook_secret_arn" {
  description = "Secret with WEBHOOK_SIGNING_SECRET; empty: webhooks of events are not signed"
  type        = string
  default     = ""
}

variable "sns_gateway_url" {
  description = "SNS_GATEWAY_URL: carries text messages and mobile push; empty: they are kept"
  type        = string
  default     = ""
}

variable "smtp_url_secret_arn" {
  description = "Secret with SNS_SMTP_URL, smtps://user:password@host, which takes e-mail; empty: mails are kept"
  type        = string
  default     = ""
}

variable "sns_mail_from" {
  description = "SNS_MAIL_FROM: the sender of e-mail; needed with smtp_url_secret_arn"
  type        = string
  default     = ""
}

variable "webhook_allow_cidrs" {
  description = "WEBHOOK_ALLOW_CIDRS: networks that webhooks may reach although they are not public"
  type        = list(string)
  default     = []
}

variable "lambda_functions" {
  description = "QUEUE_LAMBDA_FUNCTIONS: ARNs of functions that mappings, topics and schedules may invoke, with * for any characters; one without * at its end covers no alias and no version"
  type        = list(string)
  default     = []
}

variable "log_level" {
  description = "LOG_LEVEL: the least severe record to write"
  type        = string
  default     = "info"
}

variable "log_retention_days" {
  description = "How long CloudWatch keeps logs, in days; one of the values that CloudWatch has"
  type        = number
  default     = 30
}
