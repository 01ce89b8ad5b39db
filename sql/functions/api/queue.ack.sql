-- queue.ack: deletes messages that the caller has processed, inside the caller's transaction. A commit keeps both the
-- caller's work and the deletions. A rollback undoes the work and the deletions. Raises QU001 if the queue does not
-- exist. Raises QU005 if a message no longer exists, because an application must not do its work twice. Until the
-- transaction ends, other deletions of the same messages wait. SQL interface.
create or replace function queue.ack(name text, ids bigint[]) returns void
language plpgsql security definer set search_path = pg_catalog, queue, pg_temp as $$
declare
    v_missing bigint[];
begin
    select array_agg(u.id) into v_missing from (
        select u as id from unnest(ids) u
        except
        select d.id from queue.delete_by_id(queue.resolve(name), ids) d) u;
    if v_missing is not null then
        raise exception 'messages % of queue "%" are not there any more', v_missing, name using errcode = 'QU005';
    end if;
end $$;
