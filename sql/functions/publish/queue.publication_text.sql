-- queue.publication_text: returns the envelope of a message for a subscription. In a FIFO topic, the envelope begins
-- with `opening` and the message's number.
create or replace function queue.publication_text(p_publication jsonb, p_subscription queue.subscription) returns text
language plpgsql immutable as $$
declare
    v_content jsonb := coalesce(p_publication #> array['contents', p_subscription.protocol],
        p_publication #> '{contents,*}');
begin
    return coalesce((v_content ->> 'opening') || lpad(p_publication ->> 'sequence_number', 20, '0'), '')
        || (v_content ->> 'head') || p_subscription.arn || (v_content ->> 'tail');
end $$;
