-- How much of a response a message takes.

-- queue.fits: returns whether a message fits into a response of p_limit bytes. A null p_limit means no limit. `p_sizes`
-- is the column response_bytes of the message. A message without a size fits, because no receive has measured it.
-- PostgreSQL inlines this function.
create or replace function queue.fits(p_sizes jsonb, p_limit int, p_format text) returns boolean
language sql immutable parallel safe
return p_limit is null or coalesce((p_sizes ->> p_format)::int, 0) <= p_limit;

-- queue.json_bytes: returns the approximate length of a jsonb document, and 0 for null. Does not read an uncompressed
-- document.
create or replace function queue.json_bytes(p_document jsonb) returns int
language sql stable parallel safe as $$
select case when p_document is null then 0
    when pg_column_compression(p_document) is null then pg_column_size(p_document)
    else octet_length(p_document::text) end
$$;

-- queue.longest_message: returns the bytes of the longest message that this transaction has recorded
-- (note_long_message), or null.
create or replace function queue.longest_message() returns int
language sql stable as $$
select nullif(current_setting('queue.longest_message', true), '')::int
$$;
