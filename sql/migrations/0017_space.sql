-- Autovacuum comes for the last dead rows, too. With its threshold of 50 rows a table whose last few messages were deleted
-- after a vacuum keeps the size that it had at its peak: they stand at its end, where a file can be cut off only behind
-- the last row. Now a part of the table decides alone; a table without rows is vacuumed for one dead row, in a moment.
alter table queue.log set (autovacuum_vacuum_threshold = 0);
alter table queue.lease set (autovacuum_vacuum_threshold = 0);
alter table queue.side set (autovacuum_vacuum_threshold = 0);
alter table queue.fifo_message set (autovacuum_vacuum_threshold = 0);
alter table queue.fifo_group set (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.05);
alter table queue.deduplication
    set (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
alter table queue.topic_deduplication
    set (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
