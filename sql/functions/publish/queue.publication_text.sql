-- queue.publication_text(publication, subscription): the envelope that a subscription gets. It names the subscription;
-- in a FIFO topic it begins with `opening` and the message's number. Called by: publish_to_queue.
create or replace function queue.publication_text(p_entry queue.publication, p_subscription queue.subscription)
returns text
language plpgsql immutable as $$
declare
    v_content jsonb := coalesce(p_entry.contents -> p_subscription.protocol, p_entry.contents -> '*');
begin
    return case when p_entry.sequence_number is null then ''
            else (v_content ->> 'opening') || lpad(p_entry.sequence_number::text, 20, '0') end
        || (v_content ->> 'head') || p_subscription.arn || (v_content ->> 'tail');
end $$;
