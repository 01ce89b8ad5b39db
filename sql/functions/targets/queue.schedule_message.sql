-- queue.schedule_message(schedule, occurrence, out of band): returns the message that a schedule of the REST API sends:
-- its text, its attributes in the format of SQS, with `_schedule` unless it is a message of send_later, and the size of
-- both in bytes. The target of a schedule of the REST API is {"queue" | "topic", "body", "attributes", "facts"}: the
-- message's text as it was sent, its attributes in SQS's JSON, the values that filter policies compare. The target of a
-- schedule of the SQL interface is {"queue" | "topic", "message", "headers"}.
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
