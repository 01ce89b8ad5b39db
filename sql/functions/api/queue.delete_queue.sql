-- queue.delete_queue(name): deletes a queue and its messages; false when there is none. SQL interface.
create or replace function queue.delete_queue(p_name text) returns boolean
language plpgsql as $$
begin
    return (select d.error is null from queue.drop_queue(
        case when p_name like 'arn:%' then p_name else 'arn:aws:sqs:us-east-1:000000000000:' || p_name end) d);
end $$;
