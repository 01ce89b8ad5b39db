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
