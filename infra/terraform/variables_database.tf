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
