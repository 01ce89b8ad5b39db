output "environment" {
  description = "Variables of the service that are no secrets"
  value       = local.environment

  precondition {
    condition     = length(local.refusals) == 0
    error_message = "${join("; ", local.refusals)}."
  }
}

output "effective" {
  description = "The value of every setting that is no secret, by its name, the service's own default included"
  value = {
    for name, known in local.known_settings : name => try(coalesce(var.settings[name]), var.defaults[name], known.default)
    if !try(known.secret, false)
  }
}
