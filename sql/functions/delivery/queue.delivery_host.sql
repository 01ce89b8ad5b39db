-- queue.delivery_host: returns the account, host and port of an endpoint. An example is `111122223333
-- hooks.example.com:443`. For other endpoints, the result is an account and a Lambda function, `sns://gateway` or
-- `smtp://mail`. Deliveries with the same result share a process's places for a host. The result contains the account,
-- so one account's slow endpoint does not delay other accounts.
create or replace function queue.delivery_host(p_account_id text, p_endpoint text) returns text
language sql immutable parallel safe
return p_account_id || ' ' || lower(case when p_endpoint like 'arn:%' then p_endpoint
        when p_endpoint !~* '^https?:' then substring(p_endpoint from '^[^:]*://[^/]*')
        else substring(p_endpoint from '^[^:]*://(?:[^/?#]*@)?([^/?#]*)') end) || case
    when p_endpoint !~* '^https?:'
        or p_endpoint ~ '^[^:]*://[^/?#]*:[0-9]+([/?#]|$)' then ''
    when p_endpoint ~* '^https:' then ':443' else ':80' end;
