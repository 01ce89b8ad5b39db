-- queue.outgoing_refusal: returns why a message cannot reach its destination, or null. The reasons are:
--   `OptedOut` means that the phone number is opted out.
--   `EndpointNotFound` means that the endpoint of the mobile app or its application does not exist.
--   `EndpointDisabled` means that the endpoint is disabled.
--   `PlatformApplicationDisabled` means that the application is disabled.
create or replace function queue.outgoing_refusal(p_account_id text, p_region text, p_protocol text, p_destination text)
returns text
language sql stable as $$
select case
    when p_protocol = 'sms' and exists (
        select from queue.opted_out_number o
        where (o.account_id, o.region, o.phone_number) = (p_account_id, p_region, p_destination)
            and o.opted_out) then 'OptedOut'
    when p_protocol = 'application' then (
        select case when a.arn is null then 'EndpointNotFound'
            when e.attributes ->> 'Enabled' = 'false' then 'EndpointDisabled'
            when a.attributes ->> 'Enabled' = 'false' then 'PlatformApplicationDisabled' end
        from (select) one
        left join queue.platform_endpoint e on e.arn = p_destination
        left join queue.platform_application a on a.application_id = e.application_id) end
$$;
