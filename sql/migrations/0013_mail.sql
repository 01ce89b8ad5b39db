-- E-mail goes out, to subscriptions that are not refused again and again.
alter table queue.outgoing add column unsubscribe_url text;
comment on column queue.outgoing.unsubscribe_url is 'The link in a mail that ends the subscription.';
alter table queue.subscription add column mail_refusals int not null default 0;
comment on column queue.subscription.mail_refusals is 'How often in a row the mail server has refused the address for good.';

create table queue.confirmation_mail (
    confirmation_id bigint generated always as identity primary key,
    account_id text not null,
    address text not null,          -- in lower case
    due_at timestamptz not null
);
comment on table queue.confirmation_mail is 'When mails that ask for a confirmation go out: those of the last hour, and those to come.';
create index confirmation_mail_account on queue.confirmation_mail (account_id, due_at);
create index confirmation_mail_address on queue.confirmation_mail (address, due_at);
