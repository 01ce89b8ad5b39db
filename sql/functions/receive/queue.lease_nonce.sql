-- queue.lease_nonce(): a random number above 0, which names a lease beside its position.
create or replace function queue.lease_nonce() returns int
language sql volatile return 1 + floor(random() * 2147483647)::int;
