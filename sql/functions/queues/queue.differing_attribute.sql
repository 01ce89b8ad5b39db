-- queue.differing_attribute: returns the first given attribute that differs from the stored attribute, or null. The
-- attributes belong to a queue, a topic or a subscription. A missing attribute equals an empty attribute. JSON
-- attributes are equal if they differ only in white space or in the order of names. An empty object equals an empty
-- attribute. CreateQueue, CreateTopic and Subscribe use this function to decide whether the existing object equals the
-- requested object.
create or replace function queue.differing_attribute(p_stored jsonb, p_given jsonb) returns text
language sql immutable as $$
select g.key
from jsonb_each_text(p_given) g, coalesce(p_stored ->> g.key, '') s(value)
where s.value <> g.value
    and (g.key not in ('DeliveryPolicy', 'FilterPolicy', 'Policy', 'RedriveAllowPolicy', 'RedrivePolicy')
        or coalesce(queue.as_json(nullif(s.value, '')), '{}') <> coalesce(queue.as_json(nullif(g.value, '')), '{}'))
order by g.key limit 1
$$;
