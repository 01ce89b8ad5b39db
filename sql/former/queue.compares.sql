-- queue.compares(comparisons, number): whether a number is in a range: [">=", 1] or [">", 0, "<=", 5].
-- Called by: test_passes.
create or replace function queue.compares(p_comparisons jsonb, p_number numeric) returns boolean
language sql immutable parallel safe
return not exists (
    select from generate_series(0, jsonb_array_length(p_comparisons) - 2, 2) n
    where not case p_comparisons ->> n
        when '=' then p_number = (p_comparisons ->> (n + 1))::numeric
        when '<' then p_number < (p_comparisons ->> (n + 1))::numeric
        when '<=' then p_number <= (p_comparisons ->> (n + 1))::numeric
        when '>' then p_number > (p_comparisons ->> (n + 1))::numeric
        else p_number >= (p_comparisons ->> (n + 1))::numeric end);
