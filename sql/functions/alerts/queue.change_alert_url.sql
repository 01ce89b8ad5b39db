-- queue.change_alert_url(account, url): sets an account's own address for alerts, or removes it if p_url is null.
-- Forgets which problems were told, so a new address learns of all current problems.
-- `changed` is false if the account already has this address.
-- This file also contains find_alert_url.
create or replace function queue.change_alert_url(p_account_id text, p_url text) returns table (changed boolean)
language plpgsql as $$
#variable_conflict use_column
begin
    if p_url is null then
        delete from queue.alert_target t where t.account_id = p_account_id;
    else
        insert into queue.alert_target as t (account_id, url) values (p_account_id, p_url)
        on conflict (account_id) do update set url = excluded.url where t.url <> excluded.url;
    end if;
    changed := found;
    if changed then
        delete from queue.alert a where a.account_id = p_account_id;
    end if;
    return next;
end $$;

-- queue.find_alert_url(account): returns an account's own address for alerts, or no row.
create or replace function queue.find_alert_url(p_account_id text) returns table (url text)
language sql stable as $$
select t.url from queue.alert_target t where t.account_id = p_account_id
$$;
