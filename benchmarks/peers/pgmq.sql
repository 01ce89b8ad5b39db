-- Implements the well-known design of pgmq for this benchmark. Each queue has a table. `vt` is the time at which a
-- message becomes visible again. A read is one UPDATE … RETURNING of the rows that a SELECT … FOR UPDATE SKIP LOCKED
-- returns. The functions take the queue's name, and build their statements at run time, like the extension's functions.
create schema pgmq;

create function pgmq.create_queue(p_queue text) returns void language plpgsql as $$
begin
  execute format('create table pgmq.q_%s (
    msg_id bigint primary key generated always as identity,
    read_ct int not null default 0,
    enqueued_at timestamptz not null default now(),
    vt timestamptz not null,
    message jsonb,
    headers jsonb)', p_queue);
  execute format('create index q_%1$s_vt_idx on pgmq.q_%1$s (vt)', p_queue);
end $$;

create function pgmq.drop_queue(p_queue text) returns void language plpgsql as $$
begin
  execute format('drop table if exists pgmq.q_%s', p_queue);
end $$;

create function pgmq.send(p_queue text, p_message jsonb, p_delay_seconds int default 0) returns setof bigint
language plpgsql as $$
begin
  return query execute format(
    'insert into pgmq.q_%s (vt, message) values (clock_timestamp() + make_interval(secs => $2), $1) returning msg_id', p_queue)
    using p_message, p_delay_seconds;
end $$;

create function pgmq.send_batch(p_queue text, p_messages jsonb[], p_delay_seconds int default 0) returns setof bigint
language plpgsql as $$
begin
  return query execute format(
    'insert into pgmq.q_%s (vt, message)
     select clock_timestamp() + make_interval(secs => $2), m from unnest($1) m returning msg_id', p_queue)
    using p_messages, p_delay_seconds;
end $$;

create function pgmq.read(p_queue text, p_visibility_seconds int, p_limit int)
returns table (msg_id bigint, read_ct int, enqueued_at timestamptz, vt timestamptz, message jsonb)
language plpgsql as $$
begin
  return query execute format(
    'with chosen as (
       select msg_id from pgmq.q_%1$s where vt <= clock_timestamp() order by msg_id limit $1 for update skip locked)
     update pgmq.q_%1$s m set vt = clock_timestamp() + make_interval(secs => $2), read_ct = m.read_ct + 1
       from chosen where m.msg_id = chosen.msg_id
     returning m.msg_id, m.read_ct, m.enqueued_at, m.vt, m.message', p_queue)
    using p_limit, p_visibility_seconds;
end $$;

create function pgmq.delete(p_queue text, p_ids bigint[]) returns setof bigint language plpgsql as $$
begin
  return query execute format('delete from pgmq.q_%s where msg_id = any($1) returning msg_id', p_queue) using p_ids;
end $$;
