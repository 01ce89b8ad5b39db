-- queue.attribute_problem: returns why a queue cannot be created with these attributes, or null. The attributes are
-- those of CreateQueue, and Penstock's. The caller is queue.create, because penstock/sqs/attributes.py checks the
-- requests of AWS and REST. Does not check policies, except the count of the redrive policy.
-- This file also contains attribute_rules and is_between.
create or replace function queue.attribute_problem(p_attributes jsonb, p_fifo boolean) returns text
language plpgsql stable as $$
declare
    v_given record;
    v_policy jsonb;
begin
    if jsonb_typeof(p_attributes) is distinct from 'object' then
        return 'attributes is not a JSON object';
    end if;
    for v_given in
        select a.key, a.value #>> '{}' as value, jsonb_typeof(a.value) = 'string' as is_text, r.*
        from jsonb_each(p_attributes) a left join queue.attribute_rules() r on r.name = a.key
        order by a.key
    loop
        if v_given.name is null then
            return format('there is no queue attribute "%s"', v_given.key);
        elsif v_given.only_fifo and not p_fifo then
            return format('%s is an attribute of FIFO queues only', v_given.key);
        elsif not v_given.is_text then
            return format('%s is not a text', v_given.key);
        elsif v_given.value <> all (v_given.choices) then
            return format('%s is "%s" and not %s', v_given.key, v_given.value,
                array_to_string(v_given.choices, ' or '));
        elsif v_given.high is not null and not queue.is_between(v_given.value, v_given.low, v_given.high) then
            return format('%s is "%s" and not %s to %s', v_given.key, v_given.value, v_given.low, v_given.high);
        elsif v_given.key = 'RedrivePolicy' then
            v_policy := queue.as_json(v_given.value);
            if jsonb_typeof(v_policy) <> 'object' or v_policy ->> 'deadLetterTargetArn' is null
                or not queue.is_between(v_policy ->> 'maxReceiveCount', 1, 1000)
            then
                return 'RedrivePolicy is not a JSON object with deadLetterTargetArn and maxReceiveCount, 1 to 1000';
            end if;
        end if;
    end loop;
    if p_attributes ->> 'FifoThroughputLimit' = 'perMessageGroupId'
        and p_attributes ->> 'DeduplicationScope' is distinct from 'messageGroup'
    then
        return 'FifoThroughputLimit is perMessageGroupId, which requires the DeduplicationScope messageGroup';
    end if;
    return null;
end $$;

-- queue.attribute_rules: returns the attributes that a queue can have, and their values: a number from `low` to `high`
-- (in seconds or bytes), one of the `choices`, or any text. A test compares them with penstock/sqs/attributes.py.
create or replace function queue.attribute_rules()
returns table (name text, only_fifo boolean, low int, high int, choices text[])
language sql immutable as $$
values
    ('DelaySeconds', false, 0, 900, null::text[]),
    ('MaximumMessageSize', false, 1024, 1048576, null),
    ('MessageRetentionPeriod', false, 60, 1209600, null),
    ('ReceiveMessageWaitTimeSeconds', false, 0, 20, null),
    ('VisibilityTimeout', false, 0, 43200, null),
    ('Policy', false, null, null, null),
    ('RedrivePolicy', false, null, null, null),
    ('RedriveAllowPolicy', false, null, null, null),
    ('KmsMasterKeyId', false, null, null, null),
    ('KmsDataKeyReusePeriodSeconds', false, 60, 86400, null),
    ('SqsManagedSseEnabled', false, null, null, '{true,false}'),
    ('FifoQueue', true, null, null, '{true}'),
    ('ContentBasedDeduplication', true, null, null, '{true,false}'),
    ('DeduplicationScope', true, null, null, '{messageGroup,queue}'),
    ('FifoThroughputLimit', true, null, null, '{perQueue,perMessageGroupId}'),
    ('PenstockTrace', false, null, null, '{true,false}'),
    ('archive', false, null, null, '{true,false}'),
    ('archive_seconds', false, 1, 315360000, null),
    ('history', false, null, null, '{true,false}'),
    ('paused', false, null, null, '{true,false}')
$$;

-- queue.is_between: returns whether a text is a number from p_low to p_high. A null text is no number.
create or replace function queue.is_between(p_text text, p_low int, p_high int) returns boolean
language sql immutable parallel safe
return case when p_text ~ '^[0-9]{1,10}$' then p_text::bigint between p_low and p_high else false end;
