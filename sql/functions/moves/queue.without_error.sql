-- queue.without_error: returns message attributes without PenstockError, for a message that leaves a dead-letter queue.
create or replace function queue.without_error(p_attributes jsonb) returns jsonb
language sql immutable parallel safe
return case when p_attributes ? 'PenstockError' then nullif(p_attributes - 'PenstockError', '{}') else p_attributes end;
