-- queue.clean_error: returns the first 1,024 characters of an error. Characters that a message attribute cannot have
-- ("SendMessage", API reference) become U+FFFD.
create or replace function queue.clean_error(p_error text) returns text
language sql immutable parallel safe
return regexp_replace(left(p_error, 1024), $re$[\x01-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]$re$, E'\ufffd', 'g');
