# Replaces modules/password in the tests, because mocks of providers do not support ephemeral values (Terraform 1.11).

variable "name" { type = string }
variable "user" { type = string }
variable "password_version" { type = number }

output "secret_arn" {
  value = "arn:aws:secretsmanager:eu-central-1:111122223333:secret:penstock-database-abc123"
}

variable "value" {
  type      = string
  default   = "not-a-password"
  ephemeral = true
}

output "value" {
  value     = var.value
  ephemeral = true
}
