-- queue.entered_by(system): returns how a message entered its queue: dead_lettered, moved (move_system) or, if sent,
-- null.
-- PostgreSQL inlines the function.
create or replace function queue.entered_by(p_system jsonb) returns text
language sql immutable parallel safe
return case when p_system ? 'DeadLetterQueueSourceArn' then 'dead_lettered' else p_system ->> 'EnteredBy' end;
