-- queue.is_server_error(sqlstate): returns whether the server or the transaction, not the statement, caused an error.
-- Classes: deadlocks and failed serializations (40), no resources (53), shutdowns (57), the system (58), bugs (XX).
create or replace function queue.is_server_error(p_sqlstate text) returns boolean
language sql immutable parallel safe
return left(p_sqlstate, 2) in ('40', '53', '57', '58', 'XX');
