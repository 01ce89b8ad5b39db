# Tests that the plan refuses wrong values.

mock_provider "aws" {}

variables {
  vpc_id              = "vpc-1"
  private_subnet_ids  = ["subnet-1", "subnet-2"]
  balancer_subnet_ids = ["subnet-3", "subnet-4"]
  client_cidrs        = ["10.0.0.0/8"]
  certificate_arn     = "arn:aws:acm:eu-central-1:111122223333:certificate/1"
  settings            = { QUEUE_ALLOWED_HOSTS = "queues.example.com", QUEUE_ACCESS = "presence" }
  image               = "registry.example.com/penstock:0.1.0"
  pooler_image        = "registry.example.com/pgbouncer:0.1.0"
}

run "an_open_service_for_the_internet" {
  command = plan
  variables {
    client_cidrs = ["0.0.0.0/0"]
  }
  expect_failures = [var.client_cidrs]
}

run "the_internet_in_pieces" {
  command = plan
  variables {
    client_cidrs = ["0.0.0.0/1", "128.0.0.0/1"]
  }
  expect_failures = [var.client_cidrs]
}

run "half_of_the_internet" {
  command = plan
  variables {
    client_cidrs = ["10.0.0.0/8", "64.0.0.0/2"]
  }
  expect_failures = [var.client_cidrs]
}

run "networks_of_ipv6" {
  command = plan
  variables {
    client_cidrs = ["fd00::/8"]
  }
  expect_failures = [var.client_cidrs]
}

run "signatures_without_a_key" {
  command = plan
  variables {
    settings = { QUEUE_ALLOWED_HOSTS = "queues.example.com" }
  }
  expect_failures = [var.secret_settings]
}

run "a_service_that_does_not_know_its_name" {
  command = plan
  variables {
    settings = { QUEUE_ACCESS = "presence" }
  }
  expect_failures = [var.settings]
}

run "an_image_that_moves" {
  command = plan
  variables {
    image = "registry.example.com/penstock:latest"
  }
  expect_failures = [var.image]
}

run "an_image_without_a_tag" {
  command = plan
  variables {
    image = "registry.example.com:5000/penstock"
  }
  expect_failures = [var.image]
}

run "a_balancer_that_cuts_long_polls" {
  command = plan
  variables {
    idle_timeout_seconds = 20
  }
  expect_failures = [var.idle_timeout_seconds]
}

run "a_balancer_that_keeps_connections_longer_than_the_service" {
  command = plan
  variables {
    idle_timeout_seconds = 75
  }
  expect_failures = [var.idle_timeout_seconds]
}

run "tasks_that_go_within_a_long_poll" {
  command = plan
  variables {
    deregistration_delay_seconds = 20
  }
  expect_failures = [var.deregistration_delay_seconds]
}

run "one_zone" {
  command = plan
  variables {
    private_subnet_ids = ["subnet-1"]
  }
  expect_failures = [var.private_subnet_ids]
}

run "fewer_than_no_requests" {
  command = plan
  variables {
    requests_per_task = -1
  }
  expect_failures = [var.requests_per_task]
}

run "no_backups" {
  command = plan
  variables {
    backup_retention_days = 0
  }
  expect_failures = [var.backup_retention_days]
}

run "an_old_postgresql" {
  command = plan
  variables {
    database_version = "14"
  }
  expect_failures = [var.database_version]
}
