#!/bin/sh
# Creates the role with which PgBouncer looks up other roles. PostgreSQL's image runs the script once, after it has
# created the database. docs/operate/database.md, "PgBouncer", describes the steps for an existing database.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --file /usr/local/share/penstock/auth_query.sql
echo "alter role penstock_pooler password :'password'" |
  psql --set ON_ERROR_STOP=1 --set password="$POOLER_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB"
