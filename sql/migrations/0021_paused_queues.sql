-- Queues that hand out nothing while somebody pauses them.
alter table queue.queues add column paused boolean not null default false;
comment on column queue.queues.paused is 'The attribute of this name: receives get nothing. Written with the attributes (a generated column would rewrite the table).';
