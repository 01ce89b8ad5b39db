# Defines the container of PgBouncer for the service's tasks and for PgBouncer's own tasks.

variable "image" { type = string }
variable "environment" { type = map(string) }
variable "password_secret" { type = string }
variable "log_group" { type = string }

variable "secrets" {
  description = "ARNs of further secrets, by the names of their variables"
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
