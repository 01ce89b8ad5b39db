-- queue.schedule_message: returns the message of a schedule of the REST API.
--   `body` is the text.
--   `attributes` has SQS's format, with `_schedule` unless the message comes from send_later.
--   `size` is the number of bytes of body and attributes.
-- The target of a schedule of the REST API is {"queue" | "topic", "body", "attributes", "facts"}. `facts` contains the
-- values that filter policies compare. The target of a schedule of the SQL interface is {"queue" | "topic", "message",
-- "headers"}.
create or replace function queue.schedule_message(p_schedule queue.schedule, p_at timestamptz, p_out_of_band boolean)
returns table (body text, attributes jsonb, size int)
language sql stable as $$
select m.body, m.attributes, queue.message_size(m.body, m.attributes)
from (
    select coalesce(t.target ->> 'body', (t.target -> 'message')::text) as body,
        coalesce(t.target -> 'attributes', queue.as_attributes(nullif(t.target -> 'headers', 'null')), '{}')
            || case when t.target ? 'system' then '{}'
                else queue.as_attributes(jsonb_build_object('_schedule', jsonb_build_object('name', p_schedule.name,
                'scheduled_for', queue.schedule_time(p_at), 'out_of_band', p_out_of_band))) end as attributes
    from (select p_schedule.target as target) t) m
$$;
