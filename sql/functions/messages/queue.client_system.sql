-- queue.client_system: returns the system attributes without EnteredBy (entered_by), which clients do not see.
-- PostgreSQL inlines this function.
create or replace function queue.client_system(p_system jsonb) returns jsonb
language sql immutable parallel safe
return case when p_system ? 'EnteredBy' then nullif(p_system - 'EnteredBy', '{}') else p_system end;
