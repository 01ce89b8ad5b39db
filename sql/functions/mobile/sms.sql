-- Text messages: sandbox numbers, opt-outs and attributes.

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

-- queue.add_sandbox_number: adds a phone number to the SMS sandbox and sends the text with the number's password. Sends
-- the text again to an unverified number. The errors are:
--   `OptedOut` means that the number is opted out.
--   `TooMany` means that the account has p_max other numbers.
--   `RequestThrottled` means that too many text messages of the account wait (send_outgoing). The function then stores
--     nothing.
-- An advisory lock admits one caller at a time for an account's sandbox.
create or replace function queue.add_sandbox_number(
    p_account_id text, p_region text, p_phone_number text, p_password text, p_text text, p_max int)
returns table (error text)
language plpgsql as $$
begin
    if queue.outgoing_refusal(p_account_id, p_region, 'sms', p_phone_number) is not null then
        return query select 'OptedOut'::text;
        return;
    end if;
    if exists (select from queue.delivery_excess e where e.account_id = p_account_id and e.protocol = 'sms') then
        return query select 'RequestThrottled'::text;
        return;
    end if;
    perform pg_advisory_xact_lock(queue.lock_key(8, hashtext(p_account_id || p_region) & 2147483647, 0));
    if p_max <= (
        select count(*) from queue.sandbox_number s
        where s.account_id = p_account_id and s.region = p_region and s.phone_number <> p_phone_number)
    then
        return query select 'TooMany'::text;
        return;
    end if;
    insert into queue.sandbox_number as s (account_id, region, phone_number, one_time_password)
    values (p_account_id, p_region, p_phone_number, p_password)
    on conflict (account_id, region, phone_number) do update
        set one_time_password = excluded.one_time_password, wrong_passwords = 0, sent_at = clock_timestamp()
        where not s.verified;
    if found then
        perform queue.send_outgoing(
            p_account_id => p_account_id, p_region => p_region, p_protocol => 'sms', p_kind => 'OneTimePassword',
            p_destination => p_phone_number, p_message_id => gen_random_uuid(), p_subject => null, p_body => p_text,
            p_attributes => null);
    end if;
    return query select null::text;
end $$;

-- queue.verify_sandbox_number: verifies a phone number by a password. The password must be less than a day old. After
-- five wrong passwords, only a new password verifies the number. A verified number stays verified. `error` is NotFound
-- or WrongPassword.
create or replace function queue.verify_sandbox_number(
    p_account_id text, p_region text, p_phone_number text, p_password text)
returns table (error text)
language plpgsql as $$
declare
    v_number queue.sandbox_number;
begin
    select * into v_number from queue.sandbox_number s
    where (s.account_id, s.region, s.phone_number) = (p_account_id, p_region, p_phone_number) for update;
    if v_number.phone_number is null then
        return query select 'NotFound'::text;
    elsif v_number.verified then
        return query select null::text;
    elsif v_number.one_time_password = p_password and v_number.wrong_passwords < 5
        and v_number.sent_at > clock_timestamp() - interval '1 day'
    then
        update queue.sandbox_number s set verified = true
        where (s.account_id, s.region, s.phone_number) = (p_account_id, p_region, p_phone_number);
        return query select null::text;
    else
        update queue.sandbox_number s set wrong_passwords = s.wrong_passwords + 1
        where (s.account_id, s.region, s.phone_number) = (p_account_id, p_region, p_phone_number);
        return query select 'WrongPassword'::text;
    end if;
end $$;

-- queue.drop_sandbox_number: removes a phone number from the SMS sandbox. `dropped` says whether the number existed.
create or replace function queue.drop_sandbox_number(p_account_id text, p_region text, p_phone_number text)
returns table (dropped boolean)
language plpgsql as $$
begin
    delete from queue.sandbox_number s
    where (s.account_id, s.region, s.phone_number) = (p_account_id, p_region, p_phone_number);
    return query select found;
end $$;

-- queue.list_sandbox_numbers: returns phone numbers of the SMS sandbox in order. `p_after` restricts the result to
-- later numbers. Null means all numbers.
create or replace function queue.list_sandbox_numbers(p_account_id text, p_region text, p_after text, p_limit int)
returns table (phone_number text, verified boolean)
language sql stable as $$
select s.phone_number, s.verified from queue.sandbox_number s
where s.account_id = p_account_id and s.region = p_region and s.phone_number > coalesce(p_after, '')
order by s.phone_number limit p_limit
$$;

-- queue.opt_in: allows text messages to a phone number again. `error` is TooSoon if the account opted the number in
-- within the last 30 days (OptInPhoneNumber, API reference). Does not change a number that is not opted out.
create or replace function queue.opt_in(p_account_id text, p_region text, p_phone_number text)
returns table (error text)
language plpgsql as $$
declare
    v_number queue.opted_out_number;
begin
    select * into v_number from queue.opted_out_number o
    where (o.account_id, o.region, o.phone_number) = (p_account_id, p_region, p_phone_number) for update;
    if v_number.opted_out and v_number.opted_in_at > clock_timestamp() - interval '30 days' then
        return query select 'TooSoon'::text;
        return;
    end if;
    update queue.opted_out_number o set opted_out = false, opted_in_at = clock_timestamp()
    where (o.account_id, o.region, o.phone_number) = (p_account_id, p_region, p_phone_number) and o.opted_out;
    return query select null::text;
end $$;

-- queue.opt_out: stops an account's text messages to a phone number in a region, on the request of the phone's owner.
-- `changed` is true if the number was not opted out before.
create or replace function queue.opt_out(p_account_id text, p_region text, p_phone_number text)
returns table (changed boolean)
language plpgsql as $$
begin
    insert into queue.opted_out_number as o (account_id, region, phone_number, opted_out)
    values (p_account_id, p_region, p_phone_number, true)
    on conflict (account_id, region, phone_number) do update set opted_out = true where not o.opted_out;
    return query select found;
end $$;

-- queue.list_opted_out: returns opted-out phone numbers in order. `p_after` restricts the result to later numbers. Null
-- means all numbers.
create or replace function queue.list_opted_out(p_account_id text, p_region text, p_after text, p_limit int)
returns table (phone_number text)
language sql stable as $$
select o.phone_number from queue.opted_out_number o
where o.account_id = p_account_id and o.region = p_region and o.opted_out and o.phone_number > coalesce(p_after, '')
order by o.phone_number limit p_limit
$$;
