-- queue.is_server_error: returns whether the server or the transaction, not the statement, caused an error. Errors of
-- the server have the classes 40 (deadlocks and failed serializations), 53 (no resources), 57 (shutdowns), 58 (the
-- system) and XX (bugs).
create or replace function queue.is_server_error(p_sqlstate text) returns boolean
language sql immutable parallel safe
return left(p_sqlstate, 2) in ('40', '53', '57', '58', 'XX');
