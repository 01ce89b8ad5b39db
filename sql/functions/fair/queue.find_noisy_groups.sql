-- queue.find_noisy_groups(queue, shards, now): the tenants of a standard queue that are noisy, first those with the
-- fewest messages in flight; null when there are none. A tenant is noisy when it has more than a tenth of the messages
-- in flight and at least 30 of them, or more than a tenth of the time that consumers have spent on messages in flight,
-- with at least 2 (source: SQS Developer Guide, "How Amazon SQS fair queues work"; the 2 are our choice: one stuck
-- message makes no tenant noisy). It stays noisy until its skipped messages have been handed out.
-- Called by: noisy_groups.
drop function if exists queue.judge_groups(int, int, timestamptz);
create or replace function queue.find_noisy_groups(p_queue_id int, p_shards int, p_now timestamptz) returns text[]
language sql stable as $$
with busy as (
    select g.group_id, g.messages, g.messages > 0.1 * sum(g.messages) over () as crowds,
        g.seconds > 0.1 * sum(g.seconds) over () as occupies
    from queue.groups_in_flight(p_queue_id, p_shards, p_now) g),
noisy as (
    select b.group_id, b.messages from busy b
    where b.group_id is not null and ((b.crowds and b.messages >= 30) or (b.occupies and b.messages >= 2))
    union all
    select d.group_id, 0 from queue.deferred_groups(p_queue_id) d)
select array_agg(n.group_id order by n.messages, n.group_id)
from (select m.group_id, max(m.messages) as messages from noisy m group by m.group_id) n
$$;
