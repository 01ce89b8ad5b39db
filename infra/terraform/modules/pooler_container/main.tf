# The container of PgBouncer, the same beside the service and alone.

variable "image" { type = string }
variable "environment" { type = map(string) }
variable "password_secret" { type = string }
variable "log_group" { type = string }

variable "secrets" {
  description = "More variables that are secrets, with the secrets' ARNs"
  type        = map(string)
  default     = {}
}

locals {
  definition = {
    name                   = "pgbouncer"
    image                  = var.image
    essential              = true
    readonlyRootFilesystem = true
    environment            = [for name, value in var.environment : { name = name, value = value }]
    secrets                = [for name, secret in merge({ DATABASE_PASSWORD = var.password_secret }, var.secrets) : { name = name, valueFrom = secret }]
    mountPoints            = [{ sourceVolume = "pgbouncer", containerPath = "/tmp" }]
    linuxParameters        = { capabilities = { drop = ["ALL"] }, initProcessEnabled = true }
    logConfiguration = {
      logDriver = "awslogs"
      options = {
        "awslogs-group"         = var.log_group
        "awslogs-region"        = data.aws_region.here.name
        "awslogs-stream-prefix" = "pgbouncer"
      }
    }
  }
}

data "aws_region" "here" {}

output "definition" { value = local.definition }
