-- Which queues name a queue as their dead-letter queue.
create index queues_dead_letter_arn on queue.queues (dead_letter_arn, name) where dead_letter_arn is not null;
