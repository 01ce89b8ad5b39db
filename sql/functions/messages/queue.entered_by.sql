-- queue.entered_by: returns how a message entered its queue, as dead_lettered or moved (move_system). Returns null for
-- a message that was sent. PostgreSQL inlines this function.
create or replace function queue.entered_by(p_system jsonb) returns text
language sql immutable parallel safe
return case when p_system ? 'DeadLetterQueueSourceArn' then 'dead_lettered' else p_system ->> 'EnteredBy' end;
