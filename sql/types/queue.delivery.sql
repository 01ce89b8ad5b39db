-- queue.delivery: a row of a receive. `nonce` came after 0.0.2, whose calls get the other columns (sql/former).
do $$ begin
    if not exists (
        select from pg_attribute a
        where a.attrelid = 'queue.delivery'::regclass and a.attname = 'nonce' and not a.attisdropped)
    then
        alter type queue.delivery add attribute nonce int;
    end if;
end $$;
