"""A highly available PostgreSQL under Patroni and etcd, for `make ha`."""
