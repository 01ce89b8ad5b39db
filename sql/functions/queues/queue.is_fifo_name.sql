-- queue.is_fifo_name: says whether a name or an ARN is that of a FIFO queue or FIFO topic. PostgreSQL inlines the
-- function.
create or replace function queue.is_fifo_name(p_name text) returns boolean
language sql immutable parallel safe
return right(p_name, 5) = '.fifo';
