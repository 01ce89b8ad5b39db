-- Facts about a message that searches show.

-- queue.error_cause: returns the cause of a failure, or null without an error. The cause is the first line of the
-- error, in which `#` replaces each number, so that errors about different orders have the same cause. The error is the
-- attribute PenstockError, or ERROR_MESSAGE of a schedule's dead letter. Cuts the cause to 200 characters.
create or replace function queue.error_cause(p_attributes jsonb) returns text
language sql immutable parallel safe
return btrim(left(regexp_replace(split_part(coalesce(p_attributes #>> '{PenstockError,StringValue}',
    p_attributes #>> '{ERROR_MESSAGE,StringValue}'), E'\n', 1), '[0-9]+', '#', 'g'), 200), E' \t\r');

-- queue.message_state: returns visible, in_flight or delayed, as SQS counts messages. A lease that ends at 'infinity'
-- contains deferred messages (take_fair).
create or replace function queue.message_state(p_visible_at timestamptz, p_receive_count int) returns text
language sql volatile
return case when p_visible_at <= clock_timestamp() or p_visible_at = 'infinity' then 'visible'
    when p_receive_count > 0 then 'in_flight'
    else 'delayed' end;
