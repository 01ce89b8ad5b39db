-- How far a shard was swept behind a lease that is open for long (queue.sweep_shard). A row a shard, made by its first sweep.
create table queue.sweep (
    queue_id int not null,
    shard smallint not null,
    pos bigint not null,            -- everything done from the cursor's low up to here is deleted
    again_at bigint not null,       -- once the cursor is here, sweeping begins at low again, for what was open then
    primary key (queue_id, shard)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_threshold = 2000);
