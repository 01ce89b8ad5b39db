output "dns_name" { value = aws_lb.this.dns_name }
output "zone_id" { value = aws_lb.this.zone_id }
output "security_group_id" { value = aws_security_group.this.id }

output "target_group_arn" {
  description = "Known after a listener uses the group, because ECS refuses a target group without a load balancer"
  value       = aws_lb_listener.https.default_action[0].target_group_arn
}

output "requests_label" {
  description = "Label of the balancer and target group in CloudWatch's metric RequestCountPerTarget"
  value       = "${aws_lb.this.arn_suffix}/${aws_lb_target_group.this.arn_suffix}"
}
