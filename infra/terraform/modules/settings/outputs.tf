output "environment" {
  description = "Variables of the service that are not secret"
  value       = local.environment

  precondition {
    condition     = length(local.refusals) == 0
    error_message = "${join("; ", local.refusals)}."
  }
}

output "effective" {
  description = "Values of all settings that are not secret, by name, with the service's defaults"
  value = {
    for name, known in local.known_settings : name => try(coalesce(var.settings[name]), var.defaults[name], known.default)
    if !try(known.secret, false)
  }
}
