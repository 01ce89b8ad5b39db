-- Messages that are too long for the answers of some functions are passed over: how long they are is measured once.

alter table queue.side add column answer_bytes jsonb;
alter table queue.fifo_message add column answer_bytes jsonb;
