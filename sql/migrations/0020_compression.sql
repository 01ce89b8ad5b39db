-- Texts of over 2 KB are compressed by lz4 where the server was built with it: a MB of JSON costs pglz 25 ms of CPU, and lz4
-- nothing that could be measured. What is stored already stays as it is.
do $$
declare
    v_column record;
begin
    if not exists (select from pg_settings where name = 'default_toast_compression' and 'lz4' = any (enumvals)) then
        return;
    end if;
    for v_column in
        select * from (values ('log', 'body'), ('log', 'attributes'), ('side', 'body'), ('side', 'attributes'),
            ('fifo_message', 'body'), ('fifo_message', 'attributes'), ('archive', 'body'), ('archive', 'attributes'),
            ('notice', 'raw'), ('notice', 'head'), ('notice', 'attributes')) c (table_name, name)
    loop
        execute format('alter table queue.%I alter column %I set compression lz4', v_column.table_name, v_column.name);
    end loop;
end $$;
