-- Which trace a webhook belongs to (docs/tracing.md).
alter table queue.notice add column trace text;
comment on column queue.notice.trace is 'The X-Ray trace header of the request that published it, if it was traced.';
