-- queue.publish_messages: as the previous release calls it. It has compared sizes itself, with 262,144 bytes.
-- Called by: Publish and PublishBatch of the previous release.
create or replace function queue.publish_messages(
    p_topic text, p_signature_version text, p_message_ids uuid[], p_contents jsonb[], p_attributes jsonb[],
    p_attribute_bytes int[], p_attribute_facts jsonb[], p_body_facts jsonb[], p_groups text[],
    p_deduplication_ids text[], p_subjects text[])
returns table (n int, message_id text, sequence_number bigint, error text, detail text)
language sql as $$
select * from queue.publish_messages(p_message_ids, p_contents, p_attributes, p_attribute_bytes, p_attribute_facts,
    p_body_facts, p_groups, p_deduplication_ids, p_subjects, array_fill(0, array[cardinality(p_message_ids)]),
    p_topic, p_signature_version)
$$;
