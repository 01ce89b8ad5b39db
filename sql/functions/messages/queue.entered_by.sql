-- queue.entered_by(system): returns how a message entered its queue, according to its system attributes: dead_lettered,
-- moved (by a move task: move_system); null: it was sent. PostgreSQL inlines it.
create or replace function queue.entered_by(p_system jsonb) returns text
language sql immutable parallel safe
return case when p_system ? 'DeadLetterQueueSourceArn' then 'dead_lettered' else p_system ->> 'EnteredBy' end;
