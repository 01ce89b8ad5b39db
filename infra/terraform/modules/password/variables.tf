variable "name" { type = string }
variable "user" { type = string }
variable "password_version" { type = number }
