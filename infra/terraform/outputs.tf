output "endpoint" {
  description = "Address for clients; the DNS record of its host name must point to balancer_dns_name"
  value       = try(coalesce(var.settings.QUEUE_BASE_URL), "https://${module.balancer.dns_name}")
}

output "balancer_dns_name" {
  description = "Name of the load balancer"
  value       = module.balancer.dns_name
}

output "balancer_zone_id" {
  description = "Zone of the load balancer, for an alias record"
  value       = module.balancer.zone_id
}

output "database_address" {
  description = "Host of the database"
  value       = module.database.address
}

output "database_secret_arn" {
  description = "Secret with the password of the role penstock"
  value       = module.password.secret_arn
}

output "pooler_address" {
  description = "host:port of the PgBouncer for Lambda functions; empty if there is none"
  value       = try("${module.pooler[0].dns_name}:6432", "")
}

output "connections" {
  description = "Most connections to the database: those of every PgBouncer, each process's direct ones (LISTEN, and half of its own connections, at most four), and one in each task for migrations"
  value = (
    var.service_tasks.most * (var.pool_size + var.processes_per_task * (1 + min(4, floor(local.connections / 2))) + 1)
    + var.worker_tasks * (var.pool_size + 2)
    + var.pooler_tasks * var.pool_size
  )
}

output "cluster_name" {
  description = "Cluster of the tasks"
  value       = aws_ecs_cluster.this.name
}

output "log_groups" {
  description = "Log group of the tasks"
  value       = compact(concat([module.service.log_group], module.workers[*].log_group, module.pooler[*].log_group))
}
