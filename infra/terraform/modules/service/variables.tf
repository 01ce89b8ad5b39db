variable "name" { type = string }
variable "cluster_name" { type = string }
variable "image" { type = string }
variable "pooler_image" { type = string }

variable "environment" {
  description = "Variables of the service; empty ones count as not set"
  type        = map(string)
}

variable "secrets" {
  description = "ARNs of the service's secrets, by the names of their variables"
  type        = map(string)
}

variable "port" {
  description = "Port of QUEUE_ADDRESS"
  type        = number
}

variable "drain_seconds" {
  description = "QUEUE_DRAIN_SECONDS: the time for running requests after SIGTERM"
  type        = number
}

variable "lambda_functions" {
  description = "ARNs of the Lambda functions that the service can invoke"
  type        = list(string)
  default     = []
}

variable "pooler_environment" { type = map(string) }

variable "password_secret" {
  description = "ARN of the secret with the database's password"
  type        = string
}

variable "migrate_role" {
  description = "Role that gets the planner settings of the service"
  type        = string
}

variable "processes" { type = number }
variable "cpu" { type = number }
variable "memory" { type = number }
variable "architecture" { type = string }
variable "tasks" { type = object({ least = number, most = number }) }
variable "subnet_ids" { type = list(string) }
variable "security_group_ids" { type = list(string) }

variable "target_group_arn" {
  description = "Target group of the load balancer; null: workers"
  type        = string
  default     = null
}

variable "requests_per_task" {
  description = "Requests a minute to each task above which more tasks start; 0: only processor time counts"
  type        = number
  default     = 0
}

variable "requests_label" {
  description = "Label of these requests for Application Auto Scaling"
  type        = string
  default     = ""
}

variable "log_retention_days" { type = number }
