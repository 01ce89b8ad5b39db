-- Reads and changes of the subscribers of event buses.

-- queue.read_event_subscriber: returns a subscriber as JSON by column. Returns no row if it does not exist.
create or replace function queue.read_event_subscriber(p_arn text)
returns table (subscriber jsonb)
language sql stable as $$ select to_jsonb(s) from queue.event_subscriber s where s.arn = p_arn $$;

-- queue.note_event_subscribers: notes a change of the subscribers that follow a bus's cursor or of their configuration.
-- Workers then read them again (claim_event_subscribers). A version is random, because a number could be used again
-- after a rollback.
create or replace function queue.note_event_subscribers(p_bus_id bigint) returns void
language sql as $$ update queue.event_bus b set subscribers_version = gen_random_uuid() where b.bus_id = p_bus_id $$;

-- queue.update_event_subscriber: replaces the state, if it is not null, and the members of the configuration that
-- p_changes has. A member that is null in p_changes is removed. Returns the subscriber as JSON by column.
--   `p_resume` is the position of a stopped subscriber that runs again: LATEST skips the events that it has missed. For
--     other changes, it has no effect.
--   `error` is ResourceNotFound, InvalidState for a revoked subscriber, or null.
-- A change of the state waits until the delivery of the bus has ended its step, so that the step does not deliver to a
-- stopped subscriber.
create or replace function queue.update_event_subscriber(p_arn text, p_state text, p_changes jsonb, p_resume text)
returns table (subscriber jsonb, error text)
language plpgsql as $$
declare
    v_found queue.event_subscriber;
    v_page bigint;
begin
    if p_state is not null then
        perform pg_advisory_xact_lock(queue.event_delivery_key(s.bus_id))
        from queue.event_subscriber s where s.arn = p_arn;
    end if;
    select * into v_found from queue.event_subscriber s where s.arn = p_arn and not s.revoked for update;
    if not found then
        return query select null::jsonb, case
            when exists (select from queue.event_subscriber s where s.arn = p_arn) then 'InvalidState'
            else 'ResourceNotFound' end;
        return;
    end if;
    if p_state = 'STOPPED' and v_found.follows then
        v_page := greatest(queue.read_event_cursor(v_found.bus_id, 0), v_found.first_page);
    elsif p_state = 'RUNNING' and v_found.state = 'STOPPED' and p_resume = 'LATEST' then
        v_page := queue.find_last_event_page(v_found.bus_id);
    end if;
    if v_page is not null then
        perform queue.set_event_cursor(v_found.bus_id, v_found.subscriber_id, v_page);
    end if;
    update queue.event_subscriber s
    set state = coalesce(p_state, s.state), follows = s.follows and p_state is distinct from 'STOPPED',
        configuration = (s.configuration || p_changes) - array(
            select c.key from jsonb_each(p_changes) c where c.value = 'null'),
        updated_at = clock_timestamp()
    where s.subscriber_id = v_found.subscriber_id
    returning * into v_found;
    perform queue.note_event_subscribers(v_found.bus_id);
    if p_state = 'RUNNING' then
        perform queue.wake_event_delivery();
    end if;
    return query select to_jsonb(v_found), null::text;
end $$;

-- queue.delete_event_subscriber: deletes a subscriber and its cursor. Maintenance removes its retries. `deleted` says
-- whether the subscriber existed. Waits until the delivery of the bus has ended its step, which changes the same rows
-- in another order and would store the cursor again.
create or replace function queue.delete_event_subscriber(p_arn text)
returns table (deleted boolean)
language plpgsql as $$
declare
    v_found record;
begin
    perform pg_advisory_xact_lock(queue.event_delivery_key(s.bus_id)) from queue.event_subscriber s where s.arn = p_arn;
    delete from queue.event_subscriber s where s.arn = p_arn returning s.bus_id, s.subscriber_id into v_found;
    delete from queue.event_cursor c where c.bus_id = v_found.bus_id and c.subscriber_id = v_found.subscriber_id;
    perform queue.note_event_subscribers(v_found.bus_id);
    return query select v_found.subscriber_id is not null;
end $$;

-- queue.list_event_subscribers: returns the subscribers of an account and region, of a bus, or of both, as JSON by
-- column, in the order of their ARNs. A null restricts nothing. `p_after` is the last ARN of the previous page.
create or replace function queue.list_event_subscribers(
    p_account_id text, p_region text, p_bus_arn text, p_name_prefix text, p_after text, p_limit int)
returns table (subscriber jsonb)
language sql stable as $$
select to_jsonb(s) from queue.event_subscriber s
where (p_account_id is null or s.account_id = p_account_id) and s.region = p_region
    and (p_bus_arn is null or s.bus_id = (select b.bus_id from queue.event_bus b where b.arn = p_bus_arn))
    and starts_with(s.name, coalesce(p_name_prefix, '')) and s.arn > coalesce(p_after, '')
order by s.arn limit p_limit
$$;

