-- Whether the queues that a subscription delivers to let it. Policies are evaluated when a subscription or a policy
-- changes, not for each message. Subscriptions from before go on: `penstock doctor` lists those that nobody allows.

alter table queue.subscription add column target_allowed boolean not null default true;
alter table queue.subscription add column dead_letter_queue_allowed boolean not null default true;
comment on column queue.subscription.target_allowed is 'Whether the policy of the subscribed queue lets this topic send.';
comment on column queue.subscription.dead_letter_queue_allowed is 'The same of the queue of its RedrivePolicy.';
create index subscription_endpoint on queue.subscription (endpoint, subscription_id) where protocol = 'sqs';
create index subscription_dead_letters on queue.subscription (dead_letter_arn) where dead_letter_arn is not null;
create index subscription_receiver on queue.subscription (split_part(endpoint, ':', 5), subscription_id)
    where protocol = 'sqs';
