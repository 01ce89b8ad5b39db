variable "defaults" {
  description = "The other modules' settings by name; `settings` overrides them"
  type        = map(string)
}

variable "settings" {
  description = "Settings by name"
  type        = map(string)
}

variable "secret_settings" {
  description = "ARNs of secrets, by the names of their settings"
  type        = map(string)
}
