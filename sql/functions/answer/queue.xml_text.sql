-- queue.xml_text(text): the text as XML of the Query protocol has it (penstock/aws/codec/xml.py, `escaped` and
-- `document`).
create or replace function queue.xml_text(p_text text) returns text
language sql immutable parallel safe as $$
select regexp_replace(
    replace(replace(replace(replace(replace(p_text, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'),
        E'\r', '&#xD;'),
    '[\u0001-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]', '?', 'g')
$$;
