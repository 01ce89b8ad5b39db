-- Claims go round the accounts: one with many schedules that are due does not delay another's.

create index schedule_account_due on queue.schedule (account_id, due_at) where status = 'active';
create index webhook_account_due on queue.webhook (account_id, due_at, webhook_id) where state = 'pending' and not waiting;
