# Creates PostgreSQL with a standby, encryption and backups. Only the tasks can reach it, and only with TLS.

resource "aws_security_group" "this" {
  name_prefix = "${var.name}-database-"
  description = "Database of ${var.name}"
  vpc_id      = var.vpc_id
  tags        = { Name = "${var.name}-database" }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_ingress_rule" "clients" {
  for_each = var.client_group_ids

  security_group_id            = aws_security_group.this.id
  description                  = "PostgreSQL for ${each.key}"
  ip_protocol                  = "tcp"
  from_port                    = 5432
  to_port                      = 5432
  referenced_security_group_id = each.value
}

resource "aws_db_subnet_group" "this" {
  name_prefix = "${var.name}-"
  subnet_ids  = var.subnet_ids
}

resource "aws_db_parameter_group" "this" {
  name_prefix = "${var.name}-"
  family      = "postgres${var.engine_version}"
  description = "Settings of ${var.name}; docs/operate/postgres_settings.md explains them"

  dynamic "parameter" {
    for_each = local.parameters
    content {
      name         = parameter.key
      value        = parameter.value.value
      apply_method = parameter.value.at_once ? "immediate" : "pending-reboot"
    }
  }

  lifecycle {
    create_before_destroy = true
  }
}

locals {
  # RDS has fsync, full_page_writes and synchronous_commit on, so an acknowledged message is on disk.
  parameters = {
    "rds.force_ssl"                       = { value = "1", at_once = true }
    "autovacuum_naptime"                  = { value = "10", at_once = true }     # s: queues create dead rows constantly
    "autovacuum_vacuum_cost_limit"        = { value = "2000", at_once = true }   # for all workers together
    "max_wal_size"                        = { value = "4096", at_once = true }   # MB: fewer checkpoints and full pages
    "idle_in_transaction_session_timeout" = { value = "600000", at_once = true } # ms: sessions cannot hold vacuum back
    "jit"                                 = { value = "0", at_once = true }
    "log_lock_waits"                      = { value = "1", at_once = true }
    "log_min_duration_statement"          = { value = "1000", at_once = true } # ms
    "log_parameter_max_length"            = { value = "0", at_once = true }    # the log has no messages' bodies
    "log_parameter_max_length_on_error"   = { value = "0", at_once = true }
    "shared_preload_libraries"            = { value = "pg_stat_statements", at_once = false }
  }
}

# The final snapshot's name contains this id, which is new for each replacement of the database. RDS does not delete a
# database if a snapshot with the name exists.
resource "terraform_data" "instance" {
  triggers_replace = [var.name, var.database, var.user]
}

resource "aws_db_instance" "this" {
  identifier_prefix = "${var.name}-"
  engine            = "postgres"
  engine_version    = var.engine_version
  instance_class    = var.instance_class
  db_name           = var.database
  username          = var.user

  password_wo         = var.password
  password_wo_version = var.password_version

  storage_type          = "gp3"
  allocated_storage     = var.storage_gb
  max_allocated_storage = var.storage_limit_gb
  storage_encrypted     = true

  multi_az               = var.multi_az
  db_subnet_group_name   = aws_db_subnet_group.this.name
  vpc_security_group_ids = [aws_security_group.this.id]
  publicly_accessible    = false
  parameter_group_name   = aws_db_parameter_group.this.name
  ca_cert_identifier     = "rds-ca-rsa2048-g1"

  backup_retention_period   = var.backup_retention_days
  copy_tags_to_snapshot     = true
  deletion_protection       = var.deletion_protection
  skip_final_snapshot       = false
  final_snapshot_identifier = "${var.name}-final-${substr(terraform_data.instance.id, 0, 8)}"

  auto_minor_version_upgrade   = true
  apply_immediately            = false
  performance_insights_enabled = true

  enabled_cloudwatch_logs_exports = ["postgresql"]
}
