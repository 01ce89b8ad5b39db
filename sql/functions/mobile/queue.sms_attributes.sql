-- queue.sms_attributes: replaces the given SMS attributes of an account in a region. Returns all attributes. Changes
-- nothing if p_attributes is null.
create or replace function queue.sms_attributes(p_account_id text, p_region text, p_attributes jsonb)
returns table (attributes text)
language plpgsql as $$
#variable_conflict use_column
begin
    if p_attributes is not null then
        insert into queue.sms_setting as s (account_id, region, attributes)
        values (p_account_id, p_region, p_attributes)
        on conflict (account_id, region) do update set attributes = s.attributes || excluded.attributes;
    end if;
    return query select coalesce((
        select s.attributes from queue.sms_setting s where (s.account_id, s.region) = (p_account_id, p_region)),
        '{}')::text;
end $$;
