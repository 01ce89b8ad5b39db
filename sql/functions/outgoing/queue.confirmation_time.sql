-- queue.confirmation_time(account, address, limit): when a mail may ask this address to confirm: an hour after the last mail
-- that did, of whichever account, and so late that of the account no more than p_limit go out within an hour (0: any
-- number). The time is taken then. Null, and none is taken, if that is over two days from now, or if ten mails of the
-- account already wait for this address: others want to ask it, too.
-- Locks: advisory, one caller at a time. Index: confirmation_mail_account, confirmation_mail_address.
-- Called by: hand_over_mail.
create or replace function queue.confirmation_time(p_account_id text, p_address text, p_limit int) returns timestamptz
language plpgsql as $$
declare
    v_due timestamptz;
begin
    perform pg_advisory_xact_lock(queue.lock_key(9, 0, 0));
    delete from queue.confirmation_mail c where c.due_at <= clock_timestamp() - interval '1 hour';
    v_due := greatest(clock_timestamp(),
        (select max(c.due_at) + interval '1 hour' from queue.confirmation_mail c where c.address = lower(p_address)),
        (select c.due_at + interval '1 hour' from queue.confirmation_mail c
         where c.account_id = p_account_id and p_limit > 0
         order by c.due_at desc offset greatest(0, p_limit - 1) limit 1));
    if v_due > clock_timestamp() + interval '2 days' or 10 <= (
        select count(*) from queue.confirmation_mail c
        where c.address = lower(p_address) and c.account_id = p_account_id and c.due_at > clock_timestamp())
    then
        return null;
    end if;
    insert into queue.confirmation_mail (account_id, address, due_at) values (p_account_id, lower(p_address), v_due);
    return v_due;
end $$;
