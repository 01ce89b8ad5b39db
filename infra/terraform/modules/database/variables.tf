variable "name" { type = string }
variable "database" { type = string }
variable "user" { type = string }
variable "vpc_id" { type = string }
variable "subnet_ids" { type = list(string) }

variable "client_group_ids" {
  description = "Security groups that can connect, by any name"
  type        = map(string)
}

variable "password" {
  type      = string
  ephemeral = true
  sensitive = true
}

variable "password_version" { type = number }
variable "instance_class" { type = string }
variable "engine_version" { type = string }
variable "storage_gb" { type = number }
variable "storage_limit_gb" { type = number }
variable "multi_az" { type = bool }
variable "backup_retention_days" { type = number }
variable "deletion_protection" { type = bool }
