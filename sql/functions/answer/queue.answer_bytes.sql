-- queue.answer_bytes(message, format): how much of an answer a message takes, with all of its attributes, whether they
-- were asked for or not: so it is the message that fits or does not, and not the request.
-- p_format: as encoded_bytes, which measures body and attributes exactly. What stands around them is taken for 1,500 bytes
--   a message and 200 an attribute (json and xml: 1,000; json: 100 an attribute), which is the most that it can be.
create or replace function queue.answer_bytes(p_message queue.received_row, p_format text) returns int
language sql stable as $$
select case when p_format in ('json', 'xml') then 1000 else 1500 end + queue.encoded_bytes(p_message.body, p_format)
    + coalesce((
        select sum(o.bytes + queue.encoded_bytes(a.key, p_format) + queue.encoded_bytes(a.value ->> 'DataType', p_format)
            + queue.encoded_bytes(coalesce(a.value ->> 'StringValue', a.value ->> 'BinaryValue', ''), p_format))
        from jsonb_each(p_message.attributes::jsonb) a), 0)
    + coalesce((
        select sum(o.bytes + queue.encoded_bytes(s.key, p_format) + queue.encoded_bytes(s.value, p_format))
        from jsonb_each_text(p_message.system::jsonb) s), 0)
from (select case p_format when 'json' then 100 else 200 end as bytes) o
$$;
