variable "defaults" {
  description = "Settings by name where `settings` has none: what the other modules need"
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
