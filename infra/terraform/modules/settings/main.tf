# Refuses unknown names and values that the service refuses. Terraform's plan lists all refusals.

locals {
  present = { for name, value in var.settings : name => value if value != "" && contains(keys(local.known_settings), name) }
  numbers = {
    for name, value in local.present : name => try(tonumber(value), null)
    if contains(["integer", "number"], local.known_settings[name].type)
  }

  refusals = concat(
    [
      for name in concat(keys(var.settings), keys(var.secret_settings)) : "${name} is not a setting of docs/reference/settings.md"
      if !contains(keys(local.known_settings), name)
    ],
    [
      for name in keys(var.settings) : "${name} is a secret setting: set it in secret_settings"
      if try(local.known_settings[name].secret, false)
    ],
    [
      for name in keys(var.secret_settings) : "${name} is not a secret setting: set it in settings"
      if contains(keys(local.known_settings), name) && !try(local.known_settings[name].secret, false)
    ],
    [
      for name, value in local.present : "${name} must be true or false, not ${value}"
      if local.known_settings[name].type == "boolean" && !contains(local.boolean_words, lower(value))
    ],
    [
      for name, number in local.numbers : "${name} must be ${local.known_settings[name].type == "integer" ? "a whole number" : "a number"}, not ${local.present[name]}"
      if number == null || (local.known_settings[name].type == "integer" && try(floor(number) != number, false))
    ],
    [
      for name, number in local.numbers : "${name} must be at least ${local.known_settings[name].minimum}, not ${number}"
      if try(number < local.known_settings[name].minimum, false)
    ],
    [
      for name, number in local.numbers : "${name} must be at most ${local.known_settings[name].maximum}, not ${number}"
      if try(number > local.known_settings[name].maximum, false)
    ],
    [
      for name, value in local.present : "${name} must be one of ${join(", ", local.known_settings[name].choices)}, not ${value}"
      if !contains(try(local.known_settings[name].choices, [lower(value)]), lower(value))
    ],
    [
      for name, value in local.present : "${name} does not have the form that docs/reference/settings.md describes"
      if !can(regex("^(?:${try(local.known_settings[name].pattern, ".*")})$", value))
    ],
  )

  environment = { for name, value in merge(var.defaults, local.present) : name => value if !contains(keys(var.secret_settings), name) }
}
