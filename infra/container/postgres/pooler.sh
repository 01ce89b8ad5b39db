#!/bin/sh
# What the image of PostgreSQL runs once, when it has made the database: the role that PgBouncer looks up others with.
# A database that is there already gets it by hand: docs/deployment.md, "PgBouncer".
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --file /usr/local/share/penstock/auth_query.sql
echo "alter role penstock_pooler password :'password'" |
  psql --set ON_ERROR_STOP=1 --set password="$POOLER_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB"
