-- queue.matches_search: returns whether a name contains the text of a search, in upper or lower case. An empty text
-- matches all names. PostgreSQL inlines the function, so a query has the same plan as with the expression itself.
create or replace function queue.matches_search(p_name text, p_search text) returns boolean
language sql immutable parallel safe
return p_search = '' or position(lower(p_search) in lower(p_name)) > 0;
