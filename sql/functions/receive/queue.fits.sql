-- queue.fits: returns whether a message fits into a response of p_limit bytes. A null p_limit means no limit. `p_sizes`
-- is the column response_bytes of the message. A message without a size fits, because no receive has measured it.
-- PostgreSQL inlines this function.
create or replace function queue.fits(p_sizes jsonb, p_limit int, p_format text) returns boolean
language sql immutable parallel safe
return p_limit is null or coalesce((p_sizes ->> p_format)::int, 0) <= p_limit;
