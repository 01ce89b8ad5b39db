-- queue.failure_text: returns the text of a failure for users. For an error that Penstock raised, the text is its
-- message. For any other error, the text contains only the SQLSTATE.
create or replace function queue.failure_text(p_sqlstate text, p_message text) returns text
language sql immutable parallel safe
return case when left(p_sqlstate, 2) = 'QU' then p_message else 'internal error ' || p_sqlstate end;
