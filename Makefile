# Needs only make and Python >= 3.11 with pip, or uv. No Docker, Java or root.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

# What `make test` installs. Without `metrics` and `iceberg` (PySpark, numpy, Arrow, PyIceberg: 800 MB) the tests of jobs/ cannot run.
TEST_LOCKS := dev metrics iceberg
# `make clients DEPLOYMENT=lambda`: which deployment the clients call; container, lambda, http-api or sam-local (tests/system/clients/conftest.py)
DEPLOYMENT ?= container
# `make test WORKERS=8`
WORKERS ?= 3
# How long a test of `make test` or `make test-system` may hang; the slowest takes half a minute on a busy machine.
TEST_SECONDS ?= 600
# `make test ARGS="-k receive"`, `make run ARGS="--ephemeral"`
ARGS ?=

# `make run PYTHON=/usr/bin/python3`: the interpreter of a new .venv; an existing one keeps its interpreter until `make clean`.
PYTHON ?= $(or $(shell infra/local/find_python.sh),$(error no suitable Python))
UV := $(shell command -v uv || echo .tools/bin/uv)
BIN := .venv/bin
SOURCES := $(wildcard layers/core layers/web layers/worker functions jobs infra/generate infra/site infra/local tests benchmarks examples)
LOCKS := $(TEST_LOCKS:%=requirements/%.lock)
SAM := .tools/python/bin/sam
HELM := .tools/helm/bin/helm
CLIENTS := $(patsubst %,.tools/clients/%.stamp,clients clients-old clients-frameworks clients-airflow node java/sdk \
	java/jms java/spring java/camel java/events java/temporary java/jdbc rust keda debian)

export UV_PYTHON_DOWNLOADS := never
# Python keeps its bytecode, whatever the environment says: the tests start hundreds of interpreters, and compiling is more
# than half of the start of each.
unexport PYTHONDONTWRITEBYTECODE
# Use the machine's certificate authorities, such as a company's. Older versions of uv use the second name.
ifneq ($(wildcard /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt),)
export UV_SYSTEM_CERTS := true
export UV_NATIVE_TLS := true
endif

export SAM_CLI_TELEMETRY := 0
export AWS_DEFAULT_REGION := us-east-1

.PHONY: help setup run metrics lambda demo test test-system test-slow test-metrics test-browser screenshots test-docs \
	chaos ha fuzz-api check check-code check-generated check-sql check-sam check-terraform check-compose check-helm \
	check-systemd check-project audit image test-image dist test-wheel sbom publish lock bench clients format generate \
	cases site recording clean

help: ## list the targets
	@awk -F ':.*## ' '/^##@ / {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Run
setup: .venv/test.stamp ## make .venv with everything that `make check test` needs
	@echo "ready: .venv"

run: .venv/service.stamp ## start Penstock with its own PostgreSQL on 127.0.0.1:9324 (ARGS="--port 9400 --ephemeral")
	@exec $(BIN)/penstock up $(ARGS)

demo: .venv/service.stamp ## send, receive and delete messages with boto3 against a running Penstock
	@$(BIN)/penstock demo $(ARGS)

metrics: .venv/metrics.stamp ## compute metrics with Spark, of DATABASE_URL or of the service of `make run` (ARGS="--continuous")
	@$(BIN)/penstock metrics run $(ARGS)

lambda: .venv/service.stamp $(SAM) .tools/lambda/bin/python ## run the functions as Lambda does, with their own PostgreSQL, on 127.0.0.1:9324
	@infra/local/sam_build.sh $(SAM)
	@exec $(BIN)/python -m tests.support.local_lambda $(ARGS)

##@ Test
test: .venv/test.stamp .tools/lambda/bin/python ## run the tests, all on real PostgreSQL (ARGS="-k name", WORKERS=3)
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --timeout $(TEST_SECONDS) $(ARGS)

test-system: .venv/test.stamp .tools/lambda/bin/python ## run the tests that start whole programs: servers, clients, `make lambda`, upgrades, kill -9
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --timeout $(TEST_SECONDS) tests/system $(ARGS)

test-slow: .venv/browser.stamp .tools/lambda/bin/python ## run only the tests that take minutes
	@$(BIN)/python -m pytest -m slow -o testpaths=tests --timeout 1800 $(ARGS)

test-metrics: .venv/test.stamp ## run the tests of the metrics job that start Spark, and with it a Java VM
	@$(BIN)/python -m pytest -q -m "metrics and not slow" --timeout $(TEST_SECONDS) tests/integration/jobs $(ARGS)

test-browser: .venv/browser.stamp site ## run the tests of the console in a real browser, Debian's Chromium (CHROMIUM=PATH)
	@$(BIN)/python -m pytest -q -m "browser and not slow" tests/system/console $(ARGS)

screenshots: .venv/browser.stamp ## take the pictures of docs/console again, in a real browser
	@$(BIN)/python -m tests.support.web.screenshots docs/console

test-docs: .venv/test.stamp ## run the code blocks of README.md and docs/, page by page, each page on a fresh installation
	@$(BIN)/python -m pytest tests/system/pages -m docs -n 2 $(ARGS)

chaos: .venv/test.stamp ## break a running installation at random and check that no message is lost (SECONDS=60, ARGS="--seed 1")
	@$(BIN)/python -m tests.support.chaos --seconds $(or $(SECONDS),60) $(ARGS)

ha: .venv/test.stamp .tools/ha/bin/patroni ## run cells behind HAProxy, and failovers of three PostgreSQL servers under Patroni (ARGS="--rounds 5"; --record adds them to docs/reliability)
	@$(BIN)/python -m pytest -q -m ha tests/system/cells
	@$(BIN)/python -m tests.support.chaos.ha $(ARGS)

fuzz-api: .venv/test.stamp $(SAM) ## send random requests to the REST API by its OpenAPI document (SECONDS=25, ARGS="--seed 1")
	@$(BIN)/python -m tests.support.fuzz_api --seconds $(or $(SECONDS),25) $(ARGS)

clients: .venv/test.stamp $(CLIENTS) ## run the tests with real SQS clients, also those outside `make test` (Node 20, Go, Rust, Maven, Terraform; DEPLOYMENT=lambda)
	@if [ "$(DEPLOYMENT)" != container ]; then \
	  $(MAKE) --no-print-directory $(SAM) .tools/lambda/bin/python && infra/local/sam_build.sh $(SAM); fi
	@PENSTOCK_DEPLOYMENT=$(DEPLOYMENT) $(BIN)/python -m pytest tests/system/clients tests/system/pages/test_s*.py -m "not slow" -n $(WORKERS) --dist loadfile $(ARGS)

##@ Check
check: ## check lint, formatting, types, generated files, SQL functions, template.yaml, infra, .github
check: check-code check-generated check-sql check-sam check-terraform check-compose check-helm check-systemd \
	check-project site

check-code: .venv/test.stamp
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy $(SOURCES)

check-generated: .venv/test.stamp
	@$(BIN)/python -m infra.generate --check

check-sql: .venv/test.stamp
	@$(BIN)/python -m tests.support.sql.function_check

check-sam: .venv/test.stamp $(SAM) .tools/lambda/bin/python
	@$(BIN)/python -m infra.generate.gradual >.tools/gradual.yaml
	@for template in template.yaml .tools/gradual.yaml infra/migrate/template.yaml infra/alb/template.yaml infra/alarms/template.yaml; do $(SAM) validate --lint --template $$template || exit 1; done
	@infra/local/sam_build.sh $(SAM)
	@infra/local/check_arm_layer.sh $(UV) .tools/lambda/bin/python
	@$(BIN)/python -m pytest -q -m tools --timeout 900 tests/system/stack tests/system/deployment

check-terraform: .venv/test.stamp
	@infra/local/check_terraform.sh
	@if command -v terraform >/dev/null; then $(BIN)/python -m pytest -q -m tools tests/system/terraform; fi

check-compose: $(SAM)
	@$(SAM:%sam=%check-jsonschema) --builtin-schema vendor.compose-spec infra/container/compose.yaml layers/web/penstock_web/cli/starter/compose.yaml

# No package index of Python has Go. Without it this says so and succeeds, but fails if CI is set.
check-helm: .venv/test.stamp $(SAM)
	@if command -v go >/dev/null; then $(MAKE) --no-print-directory $(HELM) && $(BIN)/python -m pytest -q -m tools tests/system/helm; \
	else echo "go is not installed: infra/helm was not checked" >&2; [ -z "$${CI:-}" ]; fi

check-systemd:
	@infra/local/check_systemd.sh

check-project: .venv/test.stamp $(SAM)
	@$(SAM:%sam=%check-jsonschema) --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(SAM:%sam=%check-jsonschema) --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/{bug,feature}.yml
	@$(SAM:%sam=%check-jsonschema) --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	@$(BIN)/pre-commit validate-config
	@$(BIN)/penstock apply --schema >.tools/penstock.schema.json
	@$(SAM:%sam=%check-jsonschema) --schemafile .tools/penstock.schema.json examples/penstock.yaml

##@ Write files
format: .venv/test.stamp ## format the Python code and mend what ruff can mend
	@$(BIN)/ruff check --fix $(SOURCES) || true
	@$(BIN)/ruff format $(SOURCES)

generate: .venv/test.stamp ## write generated files: entry points and templates of actions, documents and infra of settings
	@$(BIN)/python -m infra.generate
	@$(BIN)/python -m tests.support.chaos.summary

site: .venv/test.stamp ## build the documentation, check its links, and pack it into build/site.zip, which the service shows at /docs
	@$(BIN)/python -m infra.site

recording: .venv/test.stamp ## record docs/assets/first-minutes.svg again, in a terminal
	@$(BIN)/python -m infra.site.recording

cases: .venv/test.stamp ## write build/compatibility_cases.md: the responses to 3,700 unusual requests, with their sources
	@$(BIN)/python -m tests.support.cases.table

##@ Measure
bench: .venv/test.stamp ## run the benchmarks (SCENARIO=warski PEERS=pgmq,bullmq; ARGS="--help" lists them; all by default)
	@$(BIN)/python -m benchmarks $(if $(SCENARIO),--scenario $(SCENARIO)) $(if $(PEERS),--peers $(PEERS)) $(ARGS)

##@ Release
image: site ## build the images penstock and penstock:alone by buildah, without an engine (root; Debian's buildah and debootstrap)
	@infra/container/build_images.sh

test-image: .venv/test.stamp image ## build the images and start them
	@$(BIN)/python -m pytest -q -m image tests/system/image $(ARGS)

dist: site ## build the packages (wheels, and the source of both) in dist/, always the same bytes
	@rm -f dist/penstock_queue-* dist/penstock_worker-*
	@env -u SOURCE_DATE_EPOCH $(BIN)/python -m hatchling build -d dist
	@cd layers/worker && env -u SOURCE_DATE_EPOCH $(CURDIR)/$(BIN)/python -m hatchling build -t wheel -d $(CURDIR)/dist

test-wheel: dist ## install the packages by pip, uvx and pipx, with each installed Python, and use them
	@$(BIN)/python -m pytest -q -m wheel tests/system/install $(ARGS)

sbom: $(SAM) ## write dist/penstock.cdx.json, the packages that the service is tested with (CycloneDX)
	@mkdir -p dist
	@$(SAM:%sam=%cyclonedx-py) requirements --output-reproducible --output-file dist/penstock.cdx.json requirements/service.lock

publish: $(UV) ## upload what is in dist/ to the package index (UV_PUBLISH_TOKEN=…)
	@infra/local/check_release.sh
	@$(UV) publish $(ARGS) dist/penstock_queue-* dist/penstock_worker-*

lock: $(UV) ## write requirements/*.lock again from pyproject.toml (ARGS=--upgrade for newer versions)
	@UV=$(UV) infra/local/lock.sh $(ARGS)

audit: $(SAM) ## look for known weaknesses in the packages of images, layers and jobs; needs the internet
	@infra/local/audit.sh $(SAM:%sam=%pip-audit)

clean: ## remove .venv, .tools, caches (never the data of `make run`)
	@rm -rf .venv .tools .aws-sam build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find layers functions tests benchmarks jobs examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# A stamp is newer than its locks, so a repeated run costs nothing.
.venv/test.stamp: $(LOCKS) requirements/build.lock pyproject.toml | $(UV) .venv/bin/python .tools/query-client
	@UV=$(UV) infra/local/sync.sh $(LOCKS)
	@touch .venv/service.stamp $@

# In addition to the tests' packages: `make test` needs no browser.
.venv/browser.stamp: requirements/browser.lock .venv/test.stamp | $(UV)
	@infra/local/install_chromium.sh
	@$(UV) pip install --quiet --python .venv/bin/python --no-deps --require-hashes -r $<
	@touch $@

.tools/query-client: requirements/clients-old.lock | $(UV) .venv/bin/python
	@$(UV) pip install --quiet --python .venv/bin/python --no-deps --require-hashes --target $@ -r $<
	@touch $@

# The tests need all packages of the service, so this rule keeps the packages of a .venv that has been made for tests.
.venv/service.stamp: requirements/service.lock requirements/build.lock pyproject.toml | $(UV) .venv/bin/python
	@if [ -e .venv/test.stamp ]; then $(MAKE) --no-print-directory .venv/test.stamp; \
	else UV=$(UV) infra/local/sync.sh requirements/service.lock; rm -f .venv/metrics.stamp; fi
	@touch $@

# PySpark, and Java if it is missing. A .venv of the tests has both.
.venv/metrics.stamp: requirements/metrics.lock requirements/build.lock pyproject.toml | $(UV) .venv/bin/python
	@if [ -e .venv/test.stamp ]; then $(MAKE) --no-print-directory .venv/test.stamp; \
	else UV=$(UV) infra/local/sync.sh requirements/metrics.lock; fi
	@touch .venv/service.stamp $@

.venv/bin/python: | $(UV)
	@$(UV) venv --quiet --allow-existing --python "$(PYTHON)" .venv

.tools/bin/uv: requirements/uv.lock
	@PIP_ROOT_USER_ACTION=ignore $(PYTHON) -m pip install --quiet --disable-pip-version-check --upgrade --target .tools \
	  --require-hashes -r $<
	@touch $@

# SAM, the checker of JSON schemas, pip-audit, the generator of SBOMs and Schemathesis.
$(SAM): requirements/tools.lock | $(UV)
	@$(UV) venv --quiet --allow-existing --python "$(PYTHON)" .tools/python
	@VIRTUAL_ENV=.tools/python $(UV) pip sync --quiet --require-hashes requirements/tools.lock
	@touch $@

# Helm from its Go module: go.mod has the versions and go.sum the checksums of all modules. Compiling takes about four minutes
# of one processor. One of these modules contains the schemas of Kubernetes 1.27, which our tests use too.
$(HELM): requirements/helm/go.mod requirements/helm/go.sum
	@echo "building Helm"
	@cd requirements/helm && CGO_ENABLED=0 GOFLAGS="-mod=readonly -buildvcs=false" go build -trimpath -o $(CURDIR)/$@ helm.sh/helm/v3/cmd/helm
	@cd requirements/helm && install -m 644 \
	  "$$(go list -m -f '{{.Dir}}' k8s.io/kube-openapi)/pkg/schemaconv/testdata/swagger.json" $(CURDIR)/.tools/helm/kubernetes.json
	@touch $@

# Root runs it as another user, who cannot read root's home folder and a Python there.
.tools/ha/bin/patroni: requirements/ha.lock | $(UV)
	@$(UV) venv --quiet --allow-existing --python "$(if $(filter 0,$(shell id -u)),/usr/bin/python3,$(PYTHON))" .tools/ha
	@VIRTUAL_ENV=.tools/ha $(UV) pip sync --quiet --require-hashes requirements/ha.lock
	@touch $@

# `sam build` needs pip.
.tools/lambda/bin/python: requirements/lambda.lock | $(UV)
	@$(UV) venv --quiet --clear --seed --python "$(PYTHON)" .tools/lambda
	@$(UV) pip install --quiet --python $@ --require-hashes -r $<

.tools/clients/%.stamp: requirements/%.lock | $(UV)
	@$(UV) venv --quiet --allow-existing --python "$(PYTHON)" .tools/clients/$*
	@VIRTUAL_ENV=.tools/clients/$* $(UV) pip sync --quiet --require-hashes $<
	@touch $@

.tools/clients/node.stamp: tests/support/clients/node/package.json tests/support/clients/node/package-lock.json
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null && npm --version >/dev/null \
	  || { echo "make clients needs Node 20 or newer with npm." >&2; exit 1; }
	@mkdir -p .tools/clients/node
	@cp $^ .tools/clients/node
	@npm ci --prefix .tools/clients/node --no-audit --no-fund --loglevel=error
	@touch $@

# If the tools of a language are missing, this says so, and the tests of its clients fail.
# The libraries come from Maven's repository; jars.sha256 has their digests.
.tools/clients/java/%.stamp: tests/support/clients/java/%/pom.xml $(wildcard tests/support/clients/java/*/*.java tests/support/clients/java/*.*)
	@if tests/support/clients/java/install.sh $* $(CURDIR)/.tools/clients/java/$*; then touch $@; fi

.tools/clients/rust.stamp: $(wildcard tests/support/clients/rust/*.* tests/support/clients/rust/src/*)
	@if tests/support/clients/rust/install.sh $(CURDIR)/.tools/clients/rust; then touch $@; fi

.tools/clients/debian.stamp: infra/local/install_debian_clients.sh
	@infra/local/install_debian_clients.sh
	@mkdir -p $(@D) && touch $@

# About four minutes of one processor.
.tools/clients/keda.stamp: $(wildcard tests/support/clients/keda/*)
	@echo "building the scaler of KEDA"
	@if tests/support/clients/keda/install.sh $(CURDIR)/.tools/clients/keda; then touch $@; fi
