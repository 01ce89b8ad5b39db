-- queue.read_installation(): the last measurements of the installation, a row (name, label, value) each; see
-- measure_installation.
create or replace function queue.read_installation() returns table (name text, label text, value double precision)
language sql stable as $$
select r.name, r.label, r.value from queue.reading r
$$;
