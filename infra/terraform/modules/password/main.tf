# Secrets Manager creates and keeps the password, and RDS and the tasks get it from there. It is in no state, plan or log.
# Another `password_version` creates another one; docs/operate/rotating.md describes the order of the changes.

variable "name" { type = string }
variable "user" { type = string }
variable "password_version" { type = number }

ephemeral "aws_secretsmanager_random_password" "this" {
  password_length     = 40
  exclude_punctuation = true # it is part of an address when a Lambda stack uses it
}

resource "aws_secretsmanager_secret" "this" {
  name_prefix             = "${var.name}-database-"
  description             = "Password of the role ${var.user} of the database of ${var.name}"
  recovery_window_in_days = 7
}

resource "aws_secretsmanager_secret_version" "this" {
  secret_id                = aws_secretsmanager_secret.this.id
  secret_string_wo         = ephemeral.aws_secretsmanager_random_password.this.random_password
  secret_string_wo_version = var.password_version
}

# Read back, so that both always have the same one, even after an interrupted apply.
ephemeral "aws_secretsmanager_secret_version" "this" {
  secret_id  = aws_secretsmanager_secret_version.this.secret_id
  version_id = aws_secretsmanager_secret_version.this.version_id
}

output "secret_arn" {
  description = "Known once it has a password"
  value       = aws_secretsmanager_secret_version.this.arn
}

output "value" {
  value     = ephemeral.aws_secretsmanager_secret_version.this.secret_string
  ephemeral = true
  sensitive = true
}
