-- queue.may_notify: returns false if the setting penstock.notify of the session, role or database is off. A transaction
-- with this setting does not call NOTIFY, so a two-phase commit can prepare the transaction. Waiting processes find the
-- transaction's changes by polling.
create or replace function queue.may_notify() returns boolean
language sql stable
return coalesce(current_setting('penstock.notify', true), '') not in ('off', 'false', 'no', '0');
