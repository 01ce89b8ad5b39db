-- queue.delivery_carriers: returns all values of the columns `carrier` of queue.outgoing_delivery and
-- queue.delivery_endpoint. A query for each carrier uses the indexes that begin with the column.
create or replace function queue.delivery_carriers() returns text[]
language sql immutable parallel safe
return array['gateway', 'http', 'lambda', 'mail'];
