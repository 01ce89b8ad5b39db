-- Tables of some hundred rows that are rewritten all the time by workers: their dead versions are pruned where they stand,
-- as long as their pages have room. Autovacuum came for each of them every ten seconds, at its threshold of 50 rows, which
-- was a tenth of what an idle installation costs.
alter table queue.reading set (fillfactor = 50, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_threshold = 2000);
alter table queue.measurement set (fillfactor = 50, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_threshold = 2000);
alter table queue.worker_position
    set (fillfactor = 50, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_threshold = 2000);
alter table queue.watcher set (autovacuum_vacuum_threshold = 1000, autovacuum_analyze_threshold = 1000);
