-- Whether receives count the queue's messages in flight: there are so many that the limit may not be far.
alter table queue.queues add column counts_in_flight boolean not null default false;

-- The last count of such a queue. Unlogged: whoever misses it counts again.
create unlogged table queue.in_flight (
    queue_id int primary key,
    messages bigint not null,
    good_until timestamptz not null -- before then it need not be repeated
);
comment on table queue.in_flight is 'Messages in flight of queues that have many.';

-- What a receive with a ReceiveRequestAttemptId handed out, for its repetition.
create table queue.receive_attempt (
    queue_id int not null,
    attempt_id text not null,
    received_at timestamptz not null default clock_timestamp(),
    visible_at timestamptz not null,    -- of all its messages
    ids bigint[] not null,              -- of queue.fifo_message, in the order of the answer
    receive_counts int[] not null,
    primary key (queue_id, attempt_id)
);
create index receive_attempt_received_at on queue.receive_attempt (received_at);
comment on table queue.receive_attempt is 'Receives of FIFO queues that can be repeated by their ReceiveRequestAttemptId.';
