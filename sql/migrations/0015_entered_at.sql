-- When a message entered the queue that it is in, where that is not when it was sent; and when it was received again.
-- Null for most messages: nothing is stored of those.
alter table queue.side
    add column entered_at timestamptz,          -- null: when it was sent
    add column redelivered_at timestamptz[];    -- receives after the first, as queue.add_redelivery keeps them
alter table queue.fifo_message add column redelivered_at timestamptz[];
alter table queue.lease add column redelivered_at timestamptz[];        -- of all its messages
alter table queue.history
    add column entered_at timestamptz[],        -- beside sent_at; null: the same
    add column entered_by text,                 -- dead_lettered, moved; null: sent
    add column redelivered_at timestamptz[];    -- of all messages of the row
