-- queue.create_platform_application(account, region, platform, name, credentials, attributes): makes an application, or finds
-- the one that has these attributes. p_credentials: their digest. Returns one row: arn, error (Differs: it has others).
create or replace function queue.create_platform_application(
    p_account_id text, p_region text, p_platform text, p_name text, p_credentials text, p_attributes jsonb)
returns table (arn text, error text)
language plpgsql as $$
#variable_conflict use_column
declare
    v_application queue.platform_application;
begin
    loop
        insert into queue.platform_application (account_id, region, platform, name, credentials, attributes)
        values (p_account_id, p_region, p_platform, p_name, p_credentials, p_attributes)
        on conflict do nothing
        returning * into v_application;
        exit when found;
        select * into v_application from queue.platform_application a
        where (a.account_id, a.region, a.platform, a.name) = (p_account_id, p_region, p_platform, p_name);
        exit when found;    -- else it was deleted in between
    end loop;
    return query select v_application.arn,
        case when (v_application.credentials, v_application.attributes) <> (p_credentials, p_attributes) then 'Differs' end;
end $$;
