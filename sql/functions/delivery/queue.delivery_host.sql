-- queue.delivery_host(account, endpoint): names the deliveries that share the places of a process for a host: the
-- account, then host and port, such as `111122223333 hooks.example.com:443`, or a Lambda function. Failures and slow
-- answers of one account therefore do not delay other accounts.
create or replace function queue.delivery_host(p_account_id text, p_endpoint text) returns text
language sql immutable parallel safe
return p_account_id || ' ' || lower(case when p_endpoint like 'arn:%' then p_endpoint
        else substring(p_endpoint from '^[^:]*://(?:[^/?#]*@)?([^/?#]*)') end) || case
    when p_endpoint like 'arn:%'
        or p_endpoint ~ '^[^:]*://[^/?#]*:[0-9]+([/?#]|$)' then ''
    when p_endpoint ~* '^https:' then ':443' else ':80' end;
