-- queue.ack(name, message ids): deletes received messages inside the caller's transaction: with its commit they are done,
-- together with all else that it did. Raises QU001 (undefined queue), QU005 when one of them is not there any more, so
-- that the work on it is not done twice. Locks: as queue.delete_by_id. SQL interface.
create or replace function queue.ack(p_name text, p_msg_ids bigint[]) returns void
language plpgsql as $$
declare
    v_gone bigint[];
begin
    select array_agg(u.id) into v_gone from (
        select u as id from unnest(p_msg_ids) u
        except
        select d.id from queue.delete_by_id(queue.resolve(p_name), p_msg_ids) d) u;
    if v_gone is not null then
        raise exception 'messages % of queue "%" are not there any more', v_gone, p_name using errcode = 'QU005';
    end if;
end $$;
