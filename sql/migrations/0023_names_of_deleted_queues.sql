-- The name of a deleted queue stays for as long as there are metrics of it.
alter table queue.dropped_queue add column cleaned_at timestamptz;
create index dropped_queue_not_cleaned on queue.dropped_queue (queue_id) where cleaned_at is null;
comment on column queue.dropped_queue.cleaned_at is 'Nothing of it is left but metrics, which have its name from here.';
