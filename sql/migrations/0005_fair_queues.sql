-- Fair queues: tenants (message groups) of a standard queue that keep the consumers busy are set back.

alter table queue.lease add column has_tenants boolean;     -- newest row: its messages have groups

-- What is known of a queue's tenants. A row a queue.
create table queue.noise (
    queue_id int primary key,
    noisy text[],                   -- tenants that are set back now, those with the fewest messages in flight first
    judged_at timestamptz not null default '-infinity'
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
insert into queue.noise (queue_id) select q.queue_id from queue.queues q where not q.fifo;

-- Messages that were passed over: those of one tenant in one lease, which covers them, ends at 'infinity' and has been
-- received 0 times. The lease is the truth, ids may name some that are gone.
create table queue.deferred (
    queue_id int not null,
    group_id text not null,
    deferred_at timestamptz not null,
    shard smallint not null,
    pos bigint not null,
    ids bigint[] not null,
    primary key (queue_id, group_id, deferred_at, shard, pos)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
