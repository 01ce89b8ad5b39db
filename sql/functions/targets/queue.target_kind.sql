-- queue.target_kind: returns the kind of a schedule's target in both APIs. The kind is queue, topic or (Lambda)
-- function, or null if the kind is unknown.
create or replace function queue.target_kind(p_target jsonb) returns text
language sql immutable parallel safe
return case
    when p_target ? 'queue' or p_target ->> 'Arn' like 'arn:%:sqs:%' then 'queue'
    when p_target ? 'topic' or p_target ->> 'Arn' like 'arn:%:sns:%' then 'topic'
    when p_target ->> 'Arn' like 'arn:%:lambda:%' then 'function'
end;
