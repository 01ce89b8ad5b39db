-- queue.refuse_long_messages(): raises QU010: a receive is undone, since a message is so long that the answer has to be
-- measured.
create or replace function queue.refuse_long_messages() returns void
language plpgsql as $$
begin
    raise exception 'a message is so long that the answer has to be measured: queue.receive_answer does so'
        using errcode = 'QU010';
end $$;
