output "address" {
  description = "Host; after a failover the same name leads to the other one"
  value       = aws_db_instance.this.address
}
