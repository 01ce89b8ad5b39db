-- queue.has_role(role, other): returns whether a role has the rights of the other one, or can take them by SET ROLE.
-- Superusers always have every role. The right to grant the other role is not enough; from PostgreSQL 16 on, its
-- creator has that right.
create or replace function queue.has_role(p_role name, p_other oid) returns boolean
language sql stable as $$
select pg_has_role(p_role, p_other,
    case when current_setting('server_version_num')::int >= 160000 then 'USAGE, SET' else 'MEMBER' end)
$$;
