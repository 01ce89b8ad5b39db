output "definition" { value = local.definition }
