-- queue.first_ready_messages(group, first id, limit, now): the visible messages at the head of a FIFO group, of whose
-- messages none has an id below p_first_id, at most p_limit, up to the first one that is invisible or passed over (of
-- more bytes than p_answer_bytes in p_answer_format: pass_over), with the ctids of their rows, which stay valid while the
-- group is locked; ids is null when there is none. receive_count: of the very first message.
-- Index: fifo_message_of_group.
create or replace function queue.first_ready_messages(
    p_group_key bigint, p_first_id bigint, p_limit int, p_now timestamptz, p_answer_bytes int, p_answer_format text)
returns table (ids bigint[], places tid[], receive_count int)
language sql stable as $$
select array_agg(h.id order by h.id) filter (where h.ready), array_agg(h.place order by h.id) filter (where h.ready),
    (array_agg(h.receive_count order by h.id))[1]
from (select m.id, m.place, m.receive_count, bool_and(m.visible_at <= p_now and m.fits) over (order by m.id) as ready
      from (select f.id, f.ctid as place, f.visible_at, f.receive_count, f.answer_bytes is null or p_answer_bytes is null
                or coalesce((f.answer_bytes ->> p_answer_format)::int, 0) <= p_answer_bytes as fits
            from queue.fifo_message f
            where f.group_key = p_group_key and f.group_key > 0 and f.id >= p_first_id order by f.id limit p_limit) m) h
$$;
