variable "image" { type = string }
variable "environment" { type = map(string) }
variable "password_secret" { type = string }
variable "log_group" { type = string }

variable "secrets" {
  description = "More variables that are secrets, with the secrets' ARNs"
  type        = map(string)
  default     = {}
}
