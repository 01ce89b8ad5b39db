variable "name" { type = string }
variable "cluster_arn" { type = string }
variable "image" { type = string }
variable "schedule" { type = string }

variable "environment" {
  description = "Variables of the job; the job does not get empty ones"
  type        = map(string)
}

variable "password_secret" {
  description = "ARN of the secret with the database's password"
  type        = string
}

variable "cpu" { type = number }
variable "memory" { type = number }
variable "architecture" { type = string }
variable "subnet_ids" { type = list(string) }
variable "security_group_ids" { type = list(string) }
variable "log_retention_days" { type = number }
