mock_provider "aws" {}

variables {
  name                  = "penstock"
  database              = "penstock"
  user                  = "penstock"
  vpc_id                = "vpc-1"
  subnet_ids            = ["subnet-1", "subnet-2"]
  client_group_ids      = { tasks = "sg-1" }
  password              = "not-a-password"
  password_version      = 1
  instance_class        = "db.m7g.large"
  engine_version        = "17"
  storage_gb            = 100
  storage_limit_gb      = 1000
  multi_az              = true
  backup_retention_days = 7
  deletion_protection   = true
}

run "database" {
  command = plan
  module {
    source = "./modules/database"
  }

  assert {
    condition     = aws_db_instance.this.storage_encrypted && !aws_db_instance.this.publicly_accessible && aws_db_instance.this.multi_az
    error_message = "the database is encrypted and private and has a standby"
  }
  assert {
    condition     = aws_db_instance.this.backup_retention_period > 0 && !aws_db_instance.this.skip_final_snapshot && aws_db_instance.this.deletion_protection
    error_message = "a deletion must keep the data"
  }
  assert {
    condition     = aws_db_instance.this.password == null && aws_db_instance.this.password_wo_version == 1
    error_message = "the password must not be in the state"
  }
  assert {
    condition     = { for p in aws_db_parameter_group.this.parameter : p.name => p.value }["rds.force_ssl"] == "1"
    error_message = "connections without TLS are refused"
  }
  assert {
    condition = [
      for name in ["log_parameter_max_length", "log_parameter_max_length_on_error"] :
      { for p in aws_db_parameter_group.this.parameter : p.name => p.value }[name]
    ] == ["0", "0"]
    error_message = "the log has slow calls without messages' bodies"
  }
  assert {
    condition     = !contains([for p in aws_db_parameter_group.this.parameter : p.name], "synchronous_commit")
    error_message = "an acknowledged message is on disk, so synchronous_commit stays on"
  }
  assert {
    condition     = [for r in aws_vpc_security_group_ingress_rule.clients : r.referenced_security_group_id] == ["sg-1"]
    error_message = "only the tasks reach the database"
  }
}

# Each database has its own name for the final snapshot, because RDS does not delete a database if that name exists.
run "first_database" {
  command = apply
  module {
    source = "./modules/database"
  }

  assert {
    condition     = can(regex("^penstock-final-[0-9a-f]{8}$", aws_db_instance.this.final_snapshot_identifier))
    error_message = "the final snapshot's name contains the installation's name"
  }
}

run "database_in_its_place" {
  command = apply
  module {
    source = "./modules/database"
  }
  variables {
    database = "other"
  }

  assert {
    condition     = aws_db_instance.this.final_snapshot_identifier != run.first_database.final_snapshot
    error_message = "another database has another final snapshot"
  }
}
