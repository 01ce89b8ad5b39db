-- queue.resolve: returns a queue's ARN for an ARN or a name from an application. A name means a queue in the account
-- and region of the application's role. For most roles, computes the result of caller_account itself, which saves a
-- query in nearly every call. Raises QU001 (undefined queue), even for an existing queue in an account that the caller
-- cannot use. Raises the errors of caller_account.
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
