-- queue.delete_with_undo: deletes messages in any state, and keeps them for 30 seconds, within which undo_deletion
-- brings them back. Returns the ids that existed, each with p_deletion_id, which is new. The messages leave the queue
-- at once, so no receive, count or search finds them, and they do not block their FIFO groups. The rows in
-- queue.pending_deletion commit with the removal, so after a crash each message is either in the queue or deleted with
-- 30 seconds to undo. Nothing has to happen for a deletion to last: finish_deletions only records its outcome and drops
-- the rows. Takes the locks of delete_by_id. Raises QU004 (not under READ COMMITTED) for messages that were never
-- received.
-- This file also contains undo_deletion, restore_to_group and undo_copy.
create or replace function queue.delete_with_undo(p_arn text, p_public_ids bigint[], p_deletion_id uuid)
returns table (id bigint, deletion_id uuid)
language plpgsql as $$
#variable_conflict use_column
declare
    v_queue queue.queues;
    v_public_id bigint;
    v_message jsonb;
begin
    select * into v_queue from queue.queues q where q.arn = p_arn;
    perform queue.lock_messages(v_queue, p_public_ids);
    for v_public_id in
        select u from unnest(p_public_ids) u where v_queue.queue_id is not null
        group by u order by u & 255 desc, u
    loop
        v_message := (select t.message from queue.take_message(v_queue.queue_id, v_public_id, true) t);
        continue when v_message is null;
        insert into queue.pending_deletion (deletion_id, public_id, queue_id, message)
        values (p_deletion_id, v_public_id, v_queue.queue_id, v_message);
        id := v_public_id;
        deletion_id := p_deletion_id;
        return next;
    end loop;
end $$;

-- queue.undo_deletion: brings the messages of a deletion back, if it is at most 30 seconds old. Returns their ids,
-- which stay the same, as do the receive counts and the places in FIFO groups. A message that was in flight is in
-- flight again, until the same time. An edited message (replace_messages) comes back if its copy is still in its queue
-- and not in flight, and the copy is removed. Returns no row if the time is over, or if the deletion was undone before.
-- Locks groups, then the rows of the deletion and the copies.
create or replace function queue.undo_deletion(p_arn text, p_deletion_id uuid)
returns table (id bigint)
language plpgsql as $$
#variable_conflict use_column
declare
    v_queue queue.queues;
    v_copies record;
    v_row record;
    v_now timestamptz := clock_timestamp();
begin
    select * into v_queue from queue.queues q where q.arn = p_arn;
    if v_queue.fifo then
        perform queue.lock_groups(v_queue.queue_id, array(
            select distinct d.message #>> '{system,MessageGroupId}' from queue.pending_deletion d
            where d.deletion_id = p_deletion_id and d.queue_id = v_queue.queue_id), interval '0');
    end if;
    for v_copies in
        select d.copy_queue_id as queue_id, array_agg(d.copy_public_id) as ids from queue.pending_deletion d
        where d.deletion_id = p_deletion_id and d.queue_id = v_queue.queue_id and d.copy_queue_id is not null
        group by d.copy_queue_id order by d.copy_queue_id
    loop
        perform queue.lock_messages(q, v_copies.ids) from queue.queues q where q.queue_id = v_copies.queue_id;
    end loop;
    for v_row in
        select d.public_id, d.copy_queue_id, d.copy_public_id, d.message || jsonb_build_object(
            'visible_at', greatest((d.message ->> 'visible_at')::timestamptz, v_now)) as message
        from queue.pending_deletion d
        where d.deletion_id = p_deletion_id and d.queue_id = v_queue.queue_id
            and d.deleted_at > v_now - interval '30 seconds'
        order by d.public_id for update
    loop
        continue when v_row.copy_public_id is not null
            and not queue.undo_copy(v_row.copy_queue_id, v_row.copy_public_id);
        delete from queue.pending_deletion d
        where d.deletion_id = p_deletion_id and d.public_id = v_row.public_id;
        if v_queue.fifo then
            perform queue.restore_to_group(v_queue.queue_id, v_row.message);
        else
            insert into queue.side select r.* from jsonb_populate_record(null::queue.side, v_row.message) r;
        end if;
        id := v_row.public_id;
        return next;
    end loop;
    if id is not null then
        perform queue.notify_watchers(v_queue.queue_id, p_arn);
    end if;
end $$;

-- queue.restore_to_group: inserts a FIFO message that was removed, at its former place in its group. The caller has
-- locked the group (lock_groups).
create or replace function queue.restore_to_group(p_queue_id int, p_message jsonb) returns void
language plpgsql as $$
declare
    v_group_key bigint := (
        select g.group_key from queue.fifo_group g
        where g.queue_id = p_queue_id and g.group_id = p_message #>> '{system,MessageGroupId}');
begin
    insert into queue.fifo_message
    select r.* from jsonb_populate_record(null::queue.fifo_message, p_message || jsonb_build_object(
        'group_key', v_group_key)) r;
    -- A search of the group starts at first_id, which can be above the message now.
    with former as (
        delete from queue.fifo_ready r where r.ctid = (
            select f.ctid from queue.fifo_ready f where f.group_key = v_group_key order by f.version desc limit 1)
        returning r.first_id)
    insert into queue.fifo_ready (group_key, queue_id, visible_at, first_id)
    select v_group_key, p_queue_id, 'infinity', least(f.first_id, (p_message ->> 'id')::bigint) from former f;
    perform queue.update_groups(array[v_group_key]);
end $$;

-- queue.undo_copy: removes an edited copy that is not in flight, as if it had never been sent. Returns false if the
-- copy stays or is gone. The caller has locked the copy's group (lock_messages).
create or replace function queue.undo_copy(p_queue_id int, p_public_id bigint) returns boolean
language plpgsql as $$
declare
    v_message jsonb := (select t.message from queue.take_message(p_queue_id, p_public_id, false) t);
begin
    if v_message is null then
        return false;
    end if;
    delete from queue.edited_message e where e.copy_id = (v_message ->> 'message_id')::uuid;
    delete from queue.deduplication d
    where d.queue_id = p_queue_id and d.scope in ('', v_message #>> '{system,MessageGroupId}')
        and d.deduplication_id = v_message ->> 'deduplication_id'
        and d.message_id = (v_message ->> 'message_id')::uuid;
    insert into queue.activity (queue_id, deleted) values (p_queue_id, 1);
    return true;
end $$;
