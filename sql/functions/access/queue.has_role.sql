-- queue.has_role: returns whether a role has the rights of another role, or can obtain them by SET ROLE. A superuser
-- has every role. The right to grant the other role does not count. Since PostgreSQL 16, the creator of a role has the
-- right to grant that role.
create or replace function queue.has_role(p_role name, p_other oid) returns boolean
language sql stable as $$
select pg_has_role(p_role, p_other,
    case when current_setting('server_version_num')::int >= 160000 then 'USAGE, SET' else 'MEMBER' end)
$$;
