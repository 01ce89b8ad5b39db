-- queue.resolve(name): the ARN of a queue named by applications: an ARN, or a plain name in the default account and
-- region. Raises QU001 (undefined queue). Called by: the functions of api/.
create or replace function queue.resolve(p_name text) returns text
language plpgsql stable as $$
declare
    v_arn text := case when p_name like 'arn:%' then p_name
                       else 'arn:aws:sqs:us-east-1:000000000000:' || p_name end;
begin
    if not exists (select from queue.queues q where q.arn = v_arn) then
        raise exception 'queue "%" does not exist', p_name using errcode = 'QU001';
    end if;
    return v_arn;
end $$;
