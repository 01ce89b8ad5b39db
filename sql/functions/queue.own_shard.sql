-- queue.own_shard(shards): the shard of any queue to which this session sends when nobody else does: others begin elsewhere.
-- Called by: claim_shard; take_log, in a transaction that has sent.
create or replace function queue.own_shard(p_shards int) returns int
language sql volatile as $$
select pg_backend_pid() % p_shards
$$;
