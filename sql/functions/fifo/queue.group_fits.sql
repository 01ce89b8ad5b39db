-- queue.group_fits(group, first id, bytes, format, greatest receive count): whether a receive whose answer is limited locks
-- the group: its first message fits (group_head), or is to become a dead letter, or there is none.
-- In PL/pgSQL, which PostgreSQL does not inline: receives of other answers do not pay for the subquery, which the executor
-- would prepare and never run (3 % of a receive of one message, 2026-11-26).
create or replace function queue.group_fits(
    p_group_key bigint, p_first_id bigint, p_answer_bytes int, p_answer_format text, p_max_receive_count int)
returns boolean
language plpgsql stable as $$
begin
    return (
        select h.fits or coalesce(h.receive_count >= p_max_receive_count, false)
        from queue.group_head(p_group_key, p_first_id, p_answer_bytes, p_answer_format) h) is not false;
end $$;
