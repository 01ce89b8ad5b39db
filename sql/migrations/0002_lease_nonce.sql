-- What names a lease beside its position: a position is given out again after a failover or a restore that lost its lease.
-- Leases from before have none; they get one when they are handed out again. No row is rewritten.

alter table queue.lease add column nonce int;
alter table queue.lease alter column nonce set default 1 + floor(random() * 2147483647)::int;
comment on column queue.lease.nonce is 'Random, never 0; a receipt handle names it, so that it fits no other lease at this position.';
