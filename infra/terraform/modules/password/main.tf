# Secrets Manager creates and stores the password for RDS and the tasks. No state, plan or log contains it. A new
# `password_version` creates a new password. docs/operate/rotating.md describes the order of the changes.

variable "name" { type = string }
variable "user" { type = string }
variable "password_version" { type = number }

ephemeral "aws_secretsmanager_random_password" "this" {
  password_length     = 40
  exclude_punctuation = true # a Lambda stack has the password in an address
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

# RDS gets the stored password, so that both have the same one even after an interrupted apply.
ephemeral "aws_secretsmanager_secret_version" "this" {
  secret_id  = aws_secretsmanager_secret_version.this.secret_id
  version_id = aws_secretsmanager_secret_version.this.version_id
}

output "secret_arn" {
  description = "Known after the secret has a password"
  value       = aws_secretsmanager_secret_version.this.arn
}

output "value" {
  value     = ephemeral.aws_secretsmanager_secret_version.this.secret_string
  ephemeral = true
  sensitive = true
}
