variable "name" { type = string }
variable "port" { type = number }
variable "vpc_id" { type = string }
variable "subnet_ids" { type = list(string) }
variable "internal" { type = bool }
variable "client_cidrs" { type = list(string) }
variable "certificate_arn" { type = string }
variable "idle_timeout_seconds" { type = number }
variable "deregistration_delay_seconds" { type = number }
variable "deletion_protection" { type = bool }

variable "log_bucket" {
  description = "Bucket for access logs; empty: no logs"
  type        = string
  default     = ""
}
