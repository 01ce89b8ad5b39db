-- queue.like_any(text, patterns): whether the text is like one of the patterns, a JSON array of strings.
create or replace function queue.like_any(p_text text, p_patterns jsonb) returns boolean
language sql immutable parallel safe as $$
select exists (select from jsonb_array_elements_text(p_patterns) e where p_text like e.value)
$$;
