-- queue.drop_platform_application(arn): deletes an application and its endpoints; a missing one is no error. Returns one row:
-- whether there was one. Called by: DeletePlatformApplication.
create or replace function queue.drop_platform_application(p_arn text) returns table (dropped boolean)
language plpgsql as $$
begin
    delete from queue.platform_application a where a.arn = p_arn;
    return query select found;
end $$;
