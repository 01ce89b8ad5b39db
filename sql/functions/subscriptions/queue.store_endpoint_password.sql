-- queue.store_endpoint_password: stores the password of a URL. `p_topic` is the topic that delivers to the URL, or ''
-- for bindings. A null password changes nothing. A password **** does not replace a stored password.
create or replace function queue.store_endpoint_password(
    p_account_id text, p_topic text, p_endpoint text, p_password text) returns void
language sql volatile as $$
insert into queue.endpoint_password as e (account_id, topic_arn, endpoint, password)
select p_account_id, p_topic, p_endpoint, p_password where p_password is not null
on conflict (account_id, topic_arn, endpoint) do update set password = excluded.password
where excluded.password <> '****'
$$;
