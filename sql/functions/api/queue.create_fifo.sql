-- queue.create_fifo(name, attributes): makes a FIFO queue; `.fifo` is added to a name without it. Returns its ARN.
-- Raises as queue.create. SQL interface.
create or replace function queue.create_fifo(p_name text, p_attributes jsonb default '{}') returns text
language plpgsql as $$
begin
    return queue.create(regexp_replace(p_name, '\.fifo$', '') || '.fifo', p_attributes);
end $$;
