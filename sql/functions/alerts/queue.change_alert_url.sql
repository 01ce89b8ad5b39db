-- queue.change_alert_url: sets an account's own address for alerts, or removes it if p_url is null. Forgets which
-- problems were told, so a new address learns of all current problems. An evaluation that runs meanwhile cannot store
-- its result, because it read the old address. `changed` is false if the account already has this address. Locks the
-- row of queue.alert_round first, like store_alerts.
-- This file also contains find_alert_url.
create or replace function queue.change_alert_url(p_account_id text, p_url text) returns table (changed boolean)
language plpgsql as $$
#variable_conflict use_column
begin
    perform from queue.alert_round r for update;
    if p_url is null then
        delete from queue.alert_target t where t.account_id = p_account_id;
    else
        insert into queue.alert_target as t (account_id, url) values (p_account_id, p_url)
        on conflict (account_id) do update set url = excluded.url where t.url <> excluded.url;
    end if;
    changed := found;
    if changed then
        delete from queue.alert a where a.account_id = p_account_id;
        update queue.alert_round r set round = r.round + 1, started_at = '-infinity';
    end if;
    return next;
end $$;

-- queue.find_alert_url: returns an account's own address for alerts, or no row.
create or replace function queue.find_alert_url(p_account_id text) returns table (url text)
language sql stable as $$
select t.url from queue.alert_target t where t.account_id = p_account_id
$$;
