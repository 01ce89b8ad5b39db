#!/bin/sh
# Fills in infra/pgbouncer/pgbouncer.ini.tmpl from the environment, in memory, and runs PgBouncer in the foreground.
#
#   DATABASE_HOST, DATABASE_PORT (5432), DATABASE_NAME (penstock), DATABASE_USER, DATABASE_PASSWORD
#   POOLER_PASSWORD: the password of penstock_pooler, which looks up the other roles (infra/pgbouncer/auth_query.sql);
#     without this variable, only DATABASE_USER can log in
#   POOL_SIZE (10): connections to the server
#   MAX_CLIENT_CONNECTIONS (1000)
#   SERVER_TLS (prefer): any mode up to verify-full
#   SERVER_CA_FILE: certificate authorities for verify-… (default: RDS's authorities)
#   CLIENT_TLS_CERTIFICATE, CLIENT_TLS_KEY: in PEM; with them, clients must use TLS
set -eu
: "${DATABASE_HOST:?} ${DATABASE_USER:?} ${DATABASE_PASSWORD:?}"
folder=${RUNTIME_FOLDER:-/tmp}
name=${DATABASE_NAME:-penstock}
user() {
  printf '"%s" "%s"\n' "$1" "$(printf %s "$2" | sed 's/"/""/g')"
}
umask 077
user "$DATABASE_USER" "$DATABASE_PASSWORD" >"$folder/users.txt"
export databases="$name = host=$DATABASE_HOST port=${DATABASE_PORT:-5432} dbname=$name"
if [ -n "${POOLER_PASSWORD:-}" ]; then
  user penstock_pooler "$POOLER_PASSWORD" >>"$folder/users.txt"
  databases="$databases auth_user=penstock_pooler"
fi
export listen_host="${LISTEN_HOST:-0.0.0.0}" listen_port="${LISTEN_PORT:-6432}" auth_type=scram-sha-256 auth_file="$folder/users.txt"
export pool_size="${POOL_SIZE:-10}" max_client_connections="${MAX_CLIENT_CONNECTIONS:-1000}"
export query_wait_seconds="${QUERY_WAIT_SECONDS:-5}" log_file= pid_file=
envsubst <"$(dirname "$0")/pgbouncer.ini.tmpl" >"$folder/pgbouncer.ini"
# In a container, the log goes to standard error, and no other process needs a pid file.
sed -i -e '/^logfile/d' -e '/^pidfile/d' "$folder/pgbouncer.ini"
{
  echo "server_tls_sslmode = ${SERVER_TLS:-prefer}"
  case ${SERVER_TLS:-} in verify-*) echo "server_tls_ca_file = ${SERVER_CA_FILE:-/etc/penstock/rds.pem}" ;; esac
  if [ -n "${CLIENT_TLS_CERTIFICATE:-}" ]; then
    printf '%s\n' "$CLIENT_TLS_CERTIFICATE" >"$folder/client.crt"
    printf '%s\n' "${CLIENT_TLS_KEY:?}" >"$folder/client.key"
    echo "client_tls_sslmode = require"
    echo "client_tls_cert_file = $folder/client.crt"
    echo "client_tls_key_file = $folder/client.key"
  fi
} >>"$folder/pgbouncer.ini"
exec pgbouncer "$folder/pgbouncer.ini"
