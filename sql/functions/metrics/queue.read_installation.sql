-- queue.read_installation(): returns the last measurements of the installation (measure_installation), a row (name,
-- label, value) for each.
create or replace function queue.read_installation() returns table (name text, label text, value double precision)
language sql stable as $$
select r.name, r.label, r.value from queue.reading r
$$;
