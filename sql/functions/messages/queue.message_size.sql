-- queue.message_size: returns the bytes of a message as SQS counts them: the body, and the names, types and values of
-- its attributes. For binary values, counts the base64 text, which is slightly longer than what SQS counts.
create or replace function queue.message_size(p_body text, p_attributes jsonb) returns int
language sql immutable parallel safe as $$
select octet_length(p_body) + coalesce((
    select sum(octet_length(a.key) + octet_length(a.value ->> 'DataType')
        + coalesce(octet_length(a.value ->> 'StringValue'), octet_length(a.value ->> 'BinaryValue'), 0))
    from jsonb_each(p_attributes) a), 0)::int
$$;
