-- queue.list_outgoing: returns outgoing messages of an account in the order of their ids.
--   `p_protocol` and `p_destination` restrict the result to matching messages. Null means any message.
--   `p_after` restricts the result to greater ids, and null means all ids.
--   `p_bytes` is the maximum size of texts and attributes. The first message can exceed this size.
-- Times are in milliseconds since 1970. Uses the index outgoing_account.
create or replace function queue.list_outgoing(
    p_account_id text, p_protocol text, p_destination text, p_after bigint, p_limit int, p_bytes int)
returns table (
    outgoing_id bigint, created_at_ms bigint, region text, protocol text, kind text, destination text, message_id uuid,
    topic_arn text, subscription_arn text, subject text, body text, attributes text, state text, error text)
language sql stable as $$
select o.outgoing_id, queue.epoch_ms(o.created_at), o.region, o.protocol, o.kind, o.destination, o.message_id,
    o.topic_arn, o.subscription_arn, o.subject, o.body, o.attributes::text, o.state, o.error
from (
    select g.*, sum(octet_length(g.body) + coalesce(octet_length(g.attributes::text), 0)) over w as bytes,
        row_number() over w as place
    from (
        select * from queue.outgoing e
        where e.account_id = p_account_id and e.outgoing_id > coalesce(p_after, 0)
            and (p_protocol is null or e.protocol = p_protocol)
            and (p_destination is null or e.destination = p_destination)
        order by e.outgoing_id limit p_limit) g
    window w as (order by g.outgoing_id)) o
where o.place = 1 or o.bytes <= p_bytes
order by o.outgoing_id
$$;
