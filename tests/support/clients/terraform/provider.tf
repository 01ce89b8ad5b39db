# The provider with Penstock's endpoints. `terraform apply -var changed=true` changes every argument that can change in
# place.

terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
  }
}

variable "endpoint" {
  type        = string
  description = "Address of the service."
}

variable "account" {
  type        = string
  description = "An access key id of 12 digits is the account."
}

variable "changed" {
  type    = bool
  default = false
}

provider "aws" {
  region                      = "us-east-1"
  access_key                  = var.account
  secret_key                  = "any"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_region_validation      = true
  skip_requesting_account_id  = true

  endpoints {
    lambda    = var.endpoint
    scheduler = var.endpoint
    sns       = var.endpoint
    sqs       = var.endpoint
  }

  default_tags {
    tags = { owner = "terraform" }
  }
}
