-- queue.resolve(name): the ARN of a queue that an application names: an ARN, or a plain name in the account and region
-- of its role. Raises QU001 (undefined queue), also for a queue of another account that the caller may not name, whether
-- there is one or not, and what caller_account raises. It asks itself what caller_account answers for most roles, since
-- nearly each call of an application comes through here: a query less.
create or replace function queue.resolve(p_name text) returns text
language plpgsql stable as $$
declare
    v_account_id text;
    v_region text;
    v_arn text;
begin
    select r.account_id, r.region into v_account_id, v_region
    from queue.role_account r where r.role_name = session_user;
    if v_account_id is null and queue.is_service_role() then
        v_arn := case when p_name like 'arn:%' then p_name else 'arn:aws:sqs:us-east-1:000000000000:' || p_name end;
        if exists (select from queue.queues q where q.arn = v_arn) then
            return v_arn;
        end if;
    else
        if v_account_id is null then
            select c.account_id, c.region into v_account_id, v_region from queue.caller_account() c;
        end if;
        v_arn := case when p_name like 'arn:%' then p_name
                      else 'arn:aws:sqs:' || v_region || ':' || v_account_id || ':' || p_name end;
        if exists (select from queue.queues q where q.arn = v_arn and q.account_id = v_account_id) then
            return v_arn;
        end if;
    end if;
    raise exception 'queue "%" does not exist', p_name using errcode = 'QU001';
end $$;
