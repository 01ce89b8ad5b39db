-- queue.nearest_weekday(date): the day of the month from Monday to Friday that is nearest to a date, within its month:
-- `W`.
create or replace function queue.nearest_weekday(p_date date) returns int
language sql immutable parallel safe
return extract(day from p_date)::int + case extract(isodow from p_date)
    when 6 then case when extract(day from p_date) = 1 then 2 else -1 end
    when 7 then case when extract(day from p_date + 1) = 1 then -2 else 1 end
    else 0 end;
