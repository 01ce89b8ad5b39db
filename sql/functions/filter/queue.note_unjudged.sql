-- queue.note_unjudged: inserts a row if filters cannot examine an event with these facts (body_facts). The function
-- store_minutes counts the rows. No transaction waits for another transaction.
create or replace function queue.note_unjudged(p_routing_key text, p_facts jsonb) returns void
language sql as $$
insert into queue.unjudged_event (routing_key) select p_routing_key where p_facts = 'true'
$$;
