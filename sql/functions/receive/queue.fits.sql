-- queue.fits(sizes, limit, format): returns whether a message fits into an answer of p_limit bytes (null: any number).
-- p_sizes: the column answer_bytes of the message, which has its size by format. A message without a size fits, because
-- no receive has measured it. PostgreSQL inlines it.
create or replace function queue.fits(p_sizes jsonb, p_limit int, p_format text) returns boolean
language sql immutable parallel safe
return p_limit is null or coalesce((p_sizes ->> p_format)::int, 0) <= p_limit;
