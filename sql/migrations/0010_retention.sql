-- The oldest messages of the slow lane: the worker ends what is past its retention, wherever in the queue it is.
create index side_sent_at on queue.side (queue.time_key(queue_id, -1), sent_at);
