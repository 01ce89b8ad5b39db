# Runs Penstock on AWS in containers: a load balancer, ECS Fargate tasks with the service and PgBouncer, and PostgreSQL
# on RDS. It needs a network, a certificate and the two images of infra/container. docs/operate/ecs.md has the steps.
#
#   clients ──https──> balancer ──> task: penstock ──> PgBouncer ──┐
#                                         └─ LISTEN, migrations ───┴──> RDS for PostgreSQL

locals {
  database      = "penstock"
  user          = "penstock"
  direct        = "${local.user}@${module.database.address}:5432/${local.database}?sslmode=verify-full&sslrootcert=${var.database_ca_file}"
  split_workers = var.worker_tasks > 0

  access        = lookup(var.settings, "QUEUE_ACCESS", "sigv4")
  port          = tonumber(regex("[0-9]+$", module.settings.effective.QUEUE_ADDRESS))
  connections   = tonumber(module.settings.effective.QUEUE_MAX_CONNECTIONS)
  drain_seconds = tonumber(module.settings.effective.QUEUE_DRAIN_SECONDS)

  defaults = {
    # PgBouncer is a container of the same task. Addresses have no password, because libpq reads PGPASSWORD.
    DATABASE_URL          = "postgresql://${local.user}@127.0.0.1:6432/${local.database}"
    DATABASE_DIRECT_URL   = "postgresql://${local.direct}"
    QUEUE_TRUST_FORWARDED = "true" # the balancer sets X-Forwarded-Proto
    QUEUE_REGION          = data.aws_region.here.name
    QUEUE_ACCESS          = local.access
    # Without functions, no endpoint is set, and messages for functions wait.
    QUEUE_LAMBDA_ENDPOINT  = length(var.lambda_functions) > 0 ? "https://lambda.${data.aws_region.here.name}.amazonaws.com" : ""
    QUEUE_LAMBDA_FUNCTIONS = join(",", var.lambda_functions)
  }

  environment = merge(module.settings.environment, {
    # No code reads this variable. It makes a new password create new tasks.
    PENSTOCK_PASSWORD_VERSION = tostring(var.password_version)
  })

  secrets = merge({ PGPASSWORD = module.password.secret_arn }, var.secret_settings)

  # With separate workers, the tasks behind the balancer neither deliver nor fire schedules. They still clean, because a
  # run without work costs almost nothing.
  no_workers = { QUEUE_HTTP_DELIVERY_ENABLED = "false", QUEUE_SCHEDULE_ENABLED = "false" }

  pooler = {
    DATABASE_HOST          = module.database.address
    DATABASE_NAME          = local.database
    DATABASE_USER          = local.user
    POOL_SIZE              = tostring(var.pool_size)
    MAX_CLIENT_CONNECTIONS = "1000"
    SERVER_TLS             = "verify-full"
    SERVER_CA_FILE         = var.database_ca_file
  }
}

data "aws_region" "here" {}

resource "aws_security_group" "tasks" {
  name_prefix = "${var.name}-tasks-"
  description = "Tasks of ${var.name}"
  vpc_id      = var.vpc_id
  tags        = { Name = "${var.name}-tasks" }

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_vpc_security_group_egress_rule" "tasks" {
  security_group_id = aws_security_group.tasks.id
  description       = "The database, images, secrets, logs, and the endpoints of deliveries, which can have any address"
  ip_protocol       = "-1"
  cidr_ipv4         = "0.0.0.0/0"
}

resource "aws_vpc_security_group_ingress_rule" "tasks" {
  security_group_id            = aws_security_group.tasks.id
  description                  = "Requests and health checks from the balancer"
  ip_protocol                  = "tcp"
  from_port                    = local.port
  to_port                      = local.port
  referenced_security_group_id = module.balancer.security_group_id
}

module "settings" {
  source = "./modules/settings"

  defaults        = local.defaults
  settings        = var.settings
  secret_settings = var.secret_settings
}

module "password" {
  source = "./modules/password"

  name             = var.name
  user             = local.user
  password_version = var.password_version
}

module "database" {
  source = "./modules/database"

  name                  = var.name
  database              = local.database
  user                  = local.user
  vpc_id                = var.vpc_id
  subnet_ids            = var.private_subnet_ids
  client_group_ids      = merge({ tasks = aws_security_group.tasks.id }, { for p in module.pooler : "pooler" => p.security_group_id })
  password              = module.password.value
  password_version      = var.password_version
  instance_class        = var.database_class
  engine_version        = var.database_version
  storage_gb            = var.database_storage_gb
  storage_limit_gb      = var.database_storage_limit_gb
  multi_az              = var.database_multi_az
  backup_retention_days = var.backup_retention_days
  deletion_protection   = var.deletion_protection
}

module "balancer" {
  source = "./modules/balancer"

  name                         = var.name
  vpc_id                       = var.vpc_id
  subnet_ids                   = var.balancer_subnet_ids
  internal                     = var.internal
  port                         = local.port
  client_cidrs                 = var.client_cidrs
  certificate_arn              = var.certificate_arn
  idle_timeout_seconds         = var.idle_timeout_seconds
  deregistration_delay_seconds = var.deregistration_delay_seconds
  deletion_protection          = var.deletion_protection
  log_bucket                   = var.balancer_log_bucket
}

resource "aws_ecs_cluster" "this" {
  name = var.name

  setting {
    name  = "containerInsights"
    value = "enabled"
  }
}

module "service" {
  source = "./modules/service"

  name               = var.name
  cluster_name       = aws_ecs_cluster.this.name
  image              = var.image
  pooler_image       = var.pooler_image
  environment        = merge(local.environment, local.split_workers ? local.no_workers : {})
  secrets            = local.secrets
  port               = local.port
  drain_seconds      = local.drain_seconds
  lambda_functions   = var.lambda_functions
  pooler_environment = local.pooler
  migrate_role       = local.user
  password_secret    = module.password.secret_arn
  processes          = var.processes_per_task
  cpu                = var.task_cpu
  memory             = var.task_memory
  architecture       = var.architecture
  tasks              = var.service_tasks
  subnet_ids         = var.private_subnet_ids
  security_group_ids = [aws_security_group.tasks.id]
  target_group_arn   = module.balancer.target_group_arn
  requests_per_task  = var.requests_per_task
  requests_label     = module.balancer.requests_label
  log_retention_days = var.log_retention_days

  # The first task migrates, so the database must exist.
  depends_on = [module.database]
}

module "workers" {
  source = "./modules/service"
  count  = local.split_workers ? 1 : 0

  name               = "${var.name}-workers"
  cluster_name       = aws_ecs_cluster.this.name
  image              = var.image
  pooler_image       = var.pooler_image
  environment        = local.environment
  secrets            = local.secrets
  port               = local.port
  drain_seconds      = local.drain_seconds
  lambda_functions   = var.lambda_functions
  pooler_environment = local.pooler
  migrate_role       = local.user
  password_secret    = module.password.secret_arn
  processes          = 1
  cpu                = var.task_cpu
  memory             = var.task_memory
  architecture       = var.architecture
  tasks              = { least = var.worker_tasks, most = var.worker_tasks }
  subnet_ids         = var.private_subnet_ids
  security_group_ids = [aws_security_group.tasks.id]
  log_retention_days = var.log_retention_days

  depends_on = [module.database]
}

module "pooler" {
  source = "./modules/pooler"
  count  = var.pooler_tasks > 0 ? 1 : 0

  name               = "${var.name}-pooler"
  vpc_id             = var.vpc_id
  cluster_id         = aws_ecs_cluster.this.id
  image              = var.pooler_image
  environment        = local.pooler
  password_secret    = module.password.secret_arn
  password_version   = var.password_version
  certificate_secret = var.pooler_certificate_secret_arn
  architecture       = var.architecture
  tasks              = var.pooler_tasks
  subnet_ids         = var.private_subnet_ids
  client_group_ids   = var.pooler_client_group_ids
  log_retention_days = var.log_retention_days
}

module "metrics" {
  source = "./modules/metrics"
  count  = var.metrics_image == "" ? 0 : 1

  name        = "${var.name}-metrics"
  cluster_arn = aws_ecs_cluster.this.arn
  image       = var.metrics_image
  schedule    = var.metrics_schedule
  environment = merge(module.settings.environment, {
    DATABASE_URL        = "postgresql://${local.direct}" # no pooler: a run's connections share a snapshot
    DATABASE_DIRECT_URL = ""
  })
  password_secret    = module.password.secret_arn
  cpu                = var.metrics_cpu
  memory             = var.metrics_memory
  architecture       = var.architecture
  subnet_ids         = var.private_subnet_ids
  security_group_ids = [aws_security_group.tasks.id]
  log_retention_days = var.log_retention_days
}
