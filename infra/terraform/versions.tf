terraform {
  # 1.11: the database's password is written to RDS and to Secrets Manager without ever being in the state.
  required_version = ">= 1.11"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.100, < 6.0"
    }
  }
}
