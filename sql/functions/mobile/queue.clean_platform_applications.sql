-- queue.clean_platform_applications(limit): removes endpoints of applications that were deleted, at most p_limit a call, which
-- count in the quota of their account until then; then what it knows of such an application. Returns rows removed.
-- Locks: dropped applications and endpoints, skipped when locked; those of count_platform_endpoints. Index: platform_endpoint_application.
create or replace function queue.clean_platform_applications(p_limit int) returns bigint
language plpgsql as $$
declare
    v_dropped record;
    v_removed bigint := 0;
    v_rows bigint;
    v_accounts text[];
    v_changes bigint[];
begin
    for v_dropped in    -- in random order: no account waits for another's many
        select d.application_id, d.account_id from queue.dropped_platform_application d order by random() for update skip locked
    loop
        exit when v_removed >= p_limit;
        delete from queue.platform_endpoint e where e.endpoint_id = any (array(
            select k.endpoint_id from queue.platform_endpoint k where k.application_id = v_dropped.application_id
            order by k.endpoint_id limit p_limit - v_removed for update skip locked));
        get diagnostics v_rows = row_count;
        v_removed := v_removed + v_rows;
        v_accounts := v_accounts || v_dropped.account_id;
        v_changes := v_changes || -v_rows;
        delete from queue.dropped_platform_application d
        where d.application_id = v_dropped.application_id
            and not exists (select from queue.platform_endpoint e where e.application_id = d.application_id);
        get diagnostics v_rows = row_count;
        v_removed := v_removed + v_rows;
    end loop;
    perform queue.count_platform_endpoints(v_accounts, v_changes);
    return v_removed;
end $$;
