-- queue.create: creates a standard queue. Returns the queue's ARN. `penstock migrate` stores QUEUE_SHARDS and
-- QUEUE_DEFAULT_VISIBILITY_TIMEOUT for this function. If a queue with this name and these attributes exists, only
-- returns the queue's ARN. The attributes are those of CreateQueue. The values of attributes are texts. The dead-letter
-- queue must exist and belong to the same account. Raises QU002 if the existing queue has other attributes. Raises
-- QU003 if the name, the dead-letter queue, an attribute or a value is invalid. SQL interface.
create or replace function queue.create(name text, attributes jsonb default '{}') returns text
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
declare
    v_caller record;
    v_dead_letter_arn text;
    v_problem text := queue.attribute_problem(attributes, queue.is_fifo_name(name));
    v_made record;
begin
    select * into v_caller from queue.caller_account();
    if name !~ '^[A-Za-z0-9_-]{1,75}([.]fifo|[A-Za-z0-9_-]{0,5})$' then
        raise exception 'queue name "%" is not 1 to 80 of A-Z a-z 0-9 _ -', name using errcode = 'QU003';
    elsif v_problem is not null then
        raise exception '%', v_problem using errcode = 'QU003';
    end if;
    v_dead_letter_arn := (attributes ->> 'RedrivePolicy')::jsonb ->> 'deadLetterTargetArn';
    if v_caller.is_bound and v_dead_letter_arn is not null and not exists (
        select from queue.queues q where q.arn = v_dead_letter_arn and q.account_id = v_caller.account_id)
    then
        raise exception 'there is no dead-letter queue "%" in this account', v_dead_letter_arn using errcode = 'QU003';
    end if;
    select * into v_made from queue.create_queue(
        p_account_id => v_caller.account_id, p_region => v_caller.region, p_name => name, p_supplied => attributes,
        p_defaults => queue.default_attributes(queue.is_fifo_name(name)), p_tags => '{}',
        p_shards => (select d.shards from queue.new_queue_default d), p_recreate_seconds => 0);
    if v_made.error is not null then
        raise exception 'queue "%" exists with another %', name, v_made.detail using errcode = 'QU002';
    end if;
    perform queue.audit_sql('sqs:CreateQueue', v_made.arn, jsonb_build_object('attributes', attributes), 1,
        v_made.created);
    return v_made.arn;
end $$;
