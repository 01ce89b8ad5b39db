-- queue.client_system(system): returns the system attributes that clients see, without Penstock's EnteredBy
-- (entered_by), which only messages of move tasks have. PostgreSQL inlines it.
create or replace function queue.client_system(p_system jsonb) returns jsonb
language sql immutable parallel safe
return case when p_system ? 'EnteredBy' then nullif(p_system - 'EnteredBy', '{}') else p_system end;
