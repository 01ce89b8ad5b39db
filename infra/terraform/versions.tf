terraform {
  # Terraform 1.11 can give RDS and Secrets Manager the database's password without storing it in the state.
  required_version = ">= 1.11"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.100, < 6.0"
    }
  }
}
