-- queue.message_state: returns visible, in_flight or delayed, as SQS counts messages. A lease that ends at 'infinity'
-- contains deferred messages (take_fair).
create or replace function queue.message_state(p_visible_at timestamptz, p_receive_count int) returns text
language sql volatile
return case when p_visible_at <= clock_timestamp() or p_visible_at = 'infinity' then 'visible'
    when p_receive_count > 0 then 'in_flight'
    else 'delayed' end;
