output "address" {
  description = "Host; after a failover the same name leads to the other one"
  value       = aws_db_instance.this.address
}

output "final_snapshot" {
  description = "Name of the snapshot that RDS takes when it deletes the database"
  value       = aws_db_instance.this.final_snapshot_identifier
}
