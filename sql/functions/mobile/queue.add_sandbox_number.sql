-- queue.add_sandbox_number: adds a phone number to the SMS sandbox and sends the text with the number's password. Sends
-- the text again to an unverified number. The errors are:
--   `OptedOut` means that the number is opted out.
--   `TooMany` means that the account has p_max other numbers.
--   `RequestThrottled` means that too many text messages of the account wait (send_outgoing). The function then stores
--     nothing.
-- An advisory lock admits one caller at a time for an account's sandbox.
-- This file also contains verify_sandbox_number, drop_sandbox_number and list_sandbox_numbers.
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
