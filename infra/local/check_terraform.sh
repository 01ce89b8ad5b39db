#!/usr/bin/env bash
# Checks the format and validity of infra/terraform and runs its tests, on a copy, without an AWS account.
#
# No package index has Terraform (1.11 or newer) and its AWS provider. Without Terraform, the script prints a line and
# succeeds, or fails if CI is set. `terraform init` downloads the provider, or copies it from a folder of
# `terraform providers mirror`: TERRAFORM_PLUGINS, or a folder below /opt.
set -euo pipefail
cd "$(dirname "$0")/../.."

if ! command -v terraform >/dev/null; then
  echo "terraform is not installed: infra/terraform was not checked" >&2
  [ -z "${CI:-}" ] || exit 1
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mirror=${TERRAFORM_PLUGINS:-}
if [ -z "$mirror" ]; then
  for place in /opt/*/*/hashicorp/aws; do
    if [ -d "$place" ]; then mirror=${place%/*/hashicorp/aws}; fi
  done
fi
if [ -n "$mirror" ]; then
  printf 'provider_installation {\n  filesystem_mirror {\n    path = "%s"\n  }\n}\n' "$mirror" >"$work/cli.rc"
else
  : >"$work/cli.rc"
fi
export TF_CLI_CONFIG_FILE=$work/cli.rc CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1

terraform fmt -check -diff -recursive infra/terraform tests/support/clients/terraform
cp -r infra/terraform "$work/terraform"
rm -rf "$work/terraform/.terraform" "$work/terraform/.terraform.lock.hcl"
cd "$work/terraform"
terraform init -backend=false -input=false -no-color >/dev/null
terraform validate -no-color
# Mocks of providers do not support ephemeral values (Terraform 1.11), so the tests replace the module with such values.
rm modules/password/*
cp tests/password/main.tf modules/password/
terraform test -no-color
