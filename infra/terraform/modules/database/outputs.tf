output "address" {
  description = "Host of the database; after a failover, the name leads to the new primary"
  value       = aws_db_instance.this.address
}

output "final_snapshot" {
  description = "Name of the snapshot that RDS takes when it deletes the database"
  value       = aws_db_instance.this.final_snapshot_identifier
}
