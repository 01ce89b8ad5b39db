-- queue.delivery_share(free, busy): how many of a process's free places an account gets that has p_busy: so many that it has
-- four times as many as then are left, and one in any case. One account alone gets four fifths of all; the more accounts
-- have deliveries, the fewer each, and a few are left for the next one.
-- Source: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches" (1998).
-- Called by: queue.claim_deliveries.
create or replace function queue.delivery_share(p_free int, p_busy int) returns int
language sql immutable parallel safe
return greatest(0, (4 * p_free - p_busy) / 5, least(1, p_free) - p_busy);
