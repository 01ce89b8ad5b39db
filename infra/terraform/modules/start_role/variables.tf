variable "name" { type = string }
variable "log_group_arn" { type = string }

variable "secret_arns" {
  description = "Secrets that the containers get as variables"
  type        = list(string)
}
