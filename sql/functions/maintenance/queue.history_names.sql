-- queue.history_names: returns the histories, which are the tables that have a partition for each day.
create or replace function queue.history_names() returns text[]
language sql immutable parallel safe
return array['history', 'receive_trace', 'outgoing_delivery_history', 'outgoing_delivery_attempt'];
