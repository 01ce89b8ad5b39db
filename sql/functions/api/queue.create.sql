-- queue.create(name, attributes): makes a standard queue; an existing one of that name is fine. Returns its ARN.
-- Attributes as in CreateQueue, values as text. Raises QU002 when the existing queue differs. SQL interface.
create or replace function queue.create(p_name text, p_attributes jsonb default '{}') returns text
language plpgsql as $$
declare
    v_made record;
begin
    if p_name !~ '^[A-Za-z0-9_-]{1,75}(\.fifo|[A-Za-z0-9_-]{0,5})$' then
        raise exception 'queue name "%" is not 1 to 80 of A-Z a-z 0-9 _ -', p_name using errcode = 'QU003';
    end if;
    select * into v_made from queue.create_queue('000000000000', 'us-east-1', p_name, p_attributes,
        queue.default_attributes(right(p_name, 5) = '.fifo'), '{}', 4, 0);
    if v_made.error is not null then
        raise exception 'queue "%" exists with another %', p_name, v_made.detail using errcode = 'QU002';
    end if;
    return v_made.arn;
end $$;
