-- queue.in_network(text, network): whether the text is an IP address in a network; false when it is not an address.
create or replace function queue.in_network(p_text text, p_network text) returns boolean
language plpgsql immutable parallel safe as $$
begin
    return position('/' in p_text) = 0 and p_text::inet <<= p_network::inet;
exception when data_exception then
    return false;
end $$;
