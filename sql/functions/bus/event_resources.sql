-- Tags and revocation of event buses, subscribers and event sources, by ARN.

-- queue.read_event_tags: returns the tags of a bus, a subscriber or an event source. Returns no row if it does not
-- exist.
create or replace function queue.read_event_tags(p_arn text)
returns table (tags jsonb)
language sql stable as $$
select b.tags from queue.event_bus b where b.arn = p_arn
union all
select s.tags from queue.event_subscriber s where s.arn = p_arn
union all
select s.tags from queue.event_source s where s.arn = p_arn
$$;

-- queue.change_event_tags: adds tags or replaces their values, and removes the tags p_removed. A resource can have at
-- most p_limit tags.
--   `error` is ResourceNotFound, LimitExceeded, InvalidState for a revoked resource, or null.
create or replace function queue.change_event_tags(p_arn text, p_tags jsonb, p_removed text[], p_limit int)
returns table (error text)
language plpgsql as $$
declare
    v_tags jsonb;
    v_revoked boolean;
begin
    -- The locks keep two changes of the same tags apart.
    perform from queue.event_bus b where b.arn = p_arn for no key update;
    perform from queue.event_subscriber s where s.arn = p_arn for no key update;
    perform from queue.event_source s where s.arn = p_arn for no key update;
    select (t.tags || p_tags) - p_removed into v_tags from queue.read_event_tags(p_arn) t;
    v_revoked := exists (select from queue.event_subscriber s where s.arn = p_arn and s.revoked)
        or exists (select from queue.event_source s where s.arn = p_arn and s.revoked);
    if v_tags is null or v_revoked or (select count(*) from jsonb_object_keys(v_tags)) > p_limit then
        return query select case when v_tags is null then 'ResourceNotFound' when v_revoked then 'InvalidState'
            else 'LimitExceeded' end;
        return;
    end if;
    update queue.event_bus b set tags = v_tags where b.arn = p_arn;
    update queue.event_subscriber s set tags = v_tags where s.arn = p_arn;
    update queue.event_source s set tags = v_tags where s.arn = p_arn;
    return query select null::text;
end $$;

-- queue.revoke_event_resource: revokes a subscriber or an event source of a bus that the account owns. A repeated
-- revocation changes nothing.
--   `error` is ResourceNotFound or null. The bus's owner is in the bus's ARN, because the bus can be deleted.
create or replace function queue.revoke_event_resource(p_account_id text, p_arn text)
returns table (changed boolean, error text)
language plpgsql as $$
declare
    v_revoked boolean;
begin
    select r.revoked into v_revoked from (
        select s.revoked, s.bus_arn from queue.event_subscriber s where s.arn = p_arn
        union all
        select s.revoked, s.bus_arn from queue.event_source s where s.arn = p_arn) r
    where split_part(r.bus_arn, ':', 5) = p_account_id;
    if not v_revoked then
        update queue.event_subscriber s set revoked = true, updated_at = clock_timestamp() where s.arn = p_arn;
        perform queue.note_event_subscribers(s.bus_id) from queue.event_subscriber s where s.arn = p_arn;
        update queue.event_source s set revoked = true, updated_at = clock_timestamp() where s.arn = p_arn;
    end if;
    return query select coalesce(not v_revoked, false), case when v_revoked is null then 'ResourceNotFound' end;
end $$;
