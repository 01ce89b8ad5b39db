-- queue.clean_outgoing: removes old outgoing messages. Returns the number of removed rows.
--   `p_limit` is the maximum number of removed messages for each kind and account.
--   `p_days` is the age in days above which the function removes a message.
--   `p_max` is the number of each account's newest messages that stay. A value of 0 means no limit.
--   `p_protocols` contains protocols with a carrier. Their messages of the last six hours stay for the carrier
--     (hand_over_outgoing).
-- Skips locked messages, and therefore does not wait for settle_deliveries. Uses the indexes outgoing_pkey and
-- outgoing_account.
create or replace function queue.clean_outgoing(p_limit int, p_days int, p_max int, p_protocols text[]) returns bigint
language plpgsql as $$
declare
    v_removed bigint;
    v_rows bigint;
    v_account text := '';
begin
    delete from queue.outgoing o where o.outgoing_id = any (array(
        select e.outgoing_id from queue.outgoing e
        where e.outgoing_id <= (
            select max(f.outgoing_id) from (
                select g.outgoing_id from queue.outgoing g order by g.outgoing_id limit p_limit) f)
            and e.created_at < (select clock_timestamp()) - p_days * interval '1 day'
        order by e.outgoing_id for update skip locked));
    get diagnostics v_removed = row_count;
    while p_max > 0 loop
        v_account := (
            select o.account_id from queue.outgoing o where o.account_id > v_account order by o.account_id limit 1);
        exit when v_account is null;
        delete from queue.outgoing o where o.outgoing_id = any (array(
            select e.outgoing_id from queue.outgoing e
            where e.account_id = v_account and e.outgoing_id <= (
                select n.outgoing_id from queue.outgoing n where n.account_id = v_account
                order by n.outgoing_id desc offset p_max limit 1)
                and not (e.protocol = any (p_protocols) and (e.state = 'waiting' or e.state = 'kept'
                    and e.created_at > (select clock_timestamp()) - interval '6 hours'))
            order by e.outgoing_id limit p_limit for update skip locked));
        get diagnostics v_rows = row_count;
        v_removed := v_removed + v_rows;
    end loop;
    return v_removed;
end $$;
