-- queue.delivery_host(account, URL): whose requests share the places that a process has for a host: the account, then host
-- and port, such as `111122223333 hooks.example.com:443`. A function of Lambda is
-- a host of its own. An account's failures and slow answers are no other's.
create or replace function queue.delivery_host(p_account_id text, p_endpoint text) returns text
language sql immutable parallel safe
return p_account_id || ' ' || lower(case when p_endpoint like 'arn:%' then p_endpoint
        else substring(p_endpoint from '^[^:]*://([^/?#]*)') end) || case
    when p_endpoint like 'arn:%'
        or p_endpoint ~ '^[^:]*://[^/?#]*:[0-9]+([/?#]|$)' then ''
    when p_endpoint ~* '^https:' then ':443' else ':80' end;
