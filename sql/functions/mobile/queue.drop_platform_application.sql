-- queue.drop_platform_application(arn): deletes an application and its endpoints; a missing one is no error. Nobody finds the
-- endpoints from then on; clean_platform_applications removes their rows later, piece by piece. Returns one row: whether
-- there was one. Locks: the application's row, which create_platform_endpoint shares: no endpoint comes after it.
create or replace function queue.drop_platform_application(p_arn text) returns table (dropped boolean)
language plpgsql as $$
declare
    v_application queue.platform_application;
begin
    delete from queue.platform_application a where a.arn = p_arn returning * into v_application;
    insert into queue.dropped_platform_application (application_id, account_id)
    select v_application.application_id, v_application.account_id
    where exists (select from queue.platform_endpoint e where e.application_id = v_application.application_id);
    return query select v_application.application_id is not null;
end $$;
