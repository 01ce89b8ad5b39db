output "secret_arn" {
  description = "Known once there is a password in it"
  value       = aws_secretsmanager_secret_version.this.arn
}

output "value" {
  value     = ephemeral.aws_secretsmanager_secret_version.this.secret_string
  ephemeral = true
  sensitive = true
}
