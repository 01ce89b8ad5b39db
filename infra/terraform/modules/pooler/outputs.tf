output "dns_name" { value = aws_lb.this.dns_name }
output "security_group_id" { value = aws_security_group.this.id }
output "log_group" { value = aws_cloudwatch_log_group.this.name }
