#!/bin/sh
# The image of PostgreSQL runs this once, after it created the database: it creates the role with which PgBouncer looks up
# others. For an existing database see docs/operate/database.md, "PgBouncer".
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --file /usr/local/share/penstock/auth_query.sql
echo "alter role penstock_pooler password :'password'" |
  psql --set ON_ERROR_STOP=1 --set password="$POOLER_PASSWORD" --username "$POSTGRES_USER" --dbname "$POSTGRES_DB"
