-- Autovacuum comes for the last dead rows, too, and leaves none of them in the pages. With its threshold of 50 rows, and
-- since it leaves the indexes alone where few pages have dead rows, a table kept the size that it had at its peak: a file
-- can be cut off only behind the last row, dead ones included. Now a part of the table decides alone; a table without
-- rows is vacuumed for one dead row, in a moment.
alter table queue.log set (autovacuum_vacuum_threshold = 0, vacuum_index_cleanup = on);
alter table queue.lease set (autovacuum_vacuum_threshold = 0, vacuum_index_cleanup = on);
alter table queue.side set (autovacuum_vacuum_threshold = 0, vacuum_index_cleanup = on);
alter table queue.fifo_message set (autovacuum_vacuum_threshold = 0, vacuum_index_cleanup = on);
alter table queue.fifo_group
    set (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.05, vacuum_index_cleanup = on);
alter table queue.deduplication set (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0, vacuum_index_cleanup = on);
alter table queue.topic_deduplication set (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0, vacuum_index_cleanup = on);

-- A message of a FIFO topic is no reason to ask whether its topic exists: who publishes has just read it. The check was a
-- query for each message. What a deleted topic remembers ends by itself, within five minutes.
alter table queue.topic_deduplication drop constraint topic_deduplication_topic_id_fkey;
