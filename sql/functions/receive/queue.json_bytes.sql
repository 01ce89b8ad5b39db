-- queue.json_bytes: returns the approximate length of a jsonb document, and 0 for null. Does not read an uncompressed
-- document.
create or replace function queue.json_bytes(p_document jsonb) returns int
language sql stable parallel safe as $$
select case when p_document is null then 0
    when pg_column_compression(p_document) is null then pg_column_size(p_document)
    else octet_length(p_document::text) end
$$;
