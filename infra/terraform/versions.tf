terraform {
  # 1.11 writes the database's password to RDS and Secrets Manager without storing it in the state.
  required_version = ">= 1.11"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.100, < 6.0"
    }
  }
}
