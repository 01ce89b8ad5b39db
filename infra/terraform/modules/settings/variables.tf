variable "defaults" {
  description = "Settings of the other modules, by name; `settings` overrides them"
  type        = map(string)
}

variable "settings" {
  description = "Settings by name"
  type        = map(string)
}

variable "secret_settings" {
  description = "ARNs of secrets, by name of setting"
  type        = map(string)
}
