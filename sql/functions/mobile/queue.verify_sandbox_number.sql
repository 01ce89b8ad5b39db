-- queue.verify_sandbox_number(account, region, number, password): verifies a phone number by the password that it was sent less
-- than a day ago; after five wrong ones only by a new one. One that is verified stays so. Returns one row: error (NotFound,
-- WrongPassword) or null.
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
