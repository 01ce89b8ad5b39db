output "arn" {
  description = "Known once the role may do what it has to"
  value       = aws_iam_role.this.arn
  depends_on  = [aws_iam_role_policy.this]
}

output "trust_policy" {
  description = "Lets ECS alone act in a role on behalf of a task"
  value       = data.aws_iam_policy_document.tasks.json
}
