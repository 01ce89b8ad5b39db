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
