-- queue.add_sandbox_number(account, region, number, password, text, most): adds a phone number to the SMS sandbox and sends it
-- the text with its password, again to one that is not verified. Returns one row: error (OptedOut; TooMany: the account has
-- p_most others; RequestThrottled, as send_outgoing: then nothing is stored) or null.
-- Locks: advisory, the account's sandbox.
create or replace function queue.add_sandbox_number(
    p_account_id text, p_region text, p_phone_number text, p_password text, p_text text, p_most int)
returns table (error text)
language plpgsql as $$
begin
    if queue.outgoing_refusal(p_account_id, p_region, 'sms', p_phone_number) is not null then
        return query select 'OptedOut'::text;
        return;
    end if;
    if exists (select from queue.outgoing_excess e where e.account_id = p_account_id and e.protocol = 'sms') then
        return query select 'RequestThrottled'::text;
        return;
    end if;
    perform pg_advisory_xact_lock(queue.lock_key(8, hashtext(p_account_id || p_region) & 2147483647, 0));
    if p_most <= (
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
        perform queue.send_outgoing(p_account_id, p_region, 'sms', 'OneTimePassword', p_phone_number, gen_random_uuid(), null,
            p_text, null);
    end if;
    return query select null::text;
end $$;
