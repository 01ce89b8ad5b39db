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
