-- Checks and texts of publications.

-- queue.check_routing_key: raises QU003 if a text is not a routing key or, if p_pattern is true, not a pattern. A
-- routing key has 1 to 255 characters in segments between dots. A segment has letters, digits, underscores and hyphens.
-- A pattern's segment can also be `*` or `#`.
create or replace function queue.check_routing_key(p_text text, p_pattern boolean default false) returns void
language plpgsql immutable as $$
begin
    if p_text is null or length(p_text) > 255 or not (p_text ~ (case when p_pattern
        then '^([A-Za-z0-9_-]+|[*]|#)([.]([A-Za-z0-9_-]+|[*]|#))*$' else '^[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+)*$' end))
    then
        raise exception 'not a routing key: 1 to 255 letters, digits, "_" and "-" in segments between dots'
            using errcode = 'QU003';
    end if;
end $$;

-- queue.publication_text: returns the envelope of a message for a subscription. In a FIFO topic, the envelope begins
-- with `opening` and the message's number.
create or replace function queue.publication_text(p_publication jsonb, p_subscription queue.subscription) returns text
language plpgsql immutable as $$
declare
    v_content jsonb := coalesce(p_publication #> array['contents', p_subscription.protocol],
        p_publication #> '{contents,*}');
begin
    return coalesce((v_content ->> 'opening') || lpad(p_publication ->> 'sequence_number', 20, '0'), '')
        || (v_content ->> 'head') || p_subscription.arn || (v_content ->> 'tail');
end $$;
