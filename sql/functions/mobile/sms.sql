-- Text messages.

-- queue.is_opted_out: returns whether a phone number is opted out.
create or replace function queue.is_opted_out(p_account_id text, p_region text, p_phone_number text)
returns table (opted_out boolean)
language sql stable as $$
select exists (
    select from queue.opted_out_number o
    where (o.account_id, o.region, o.phone_number) = (p_account_id, p_region, p_phone_number) and o.opted_out)
$$;

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
