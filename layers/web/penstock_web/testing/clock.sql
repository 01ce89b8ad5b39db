-- Replaces this database's clock with a clock that tests can move. A superuser runs this file before the migrations. The
-- functions and defaults that the migrations create therefore use this clock. Only test databases contain this clock.
create schema penstock_clock;
create table penstock_clock.advanced (by interval not null);
insert into penstock_clock.advanced values ('0');
grant usage on schema penstock_clock to public;
grant select on penstock_clock.advanced to public;

alter function pg_catalog.clock_timestamp() rename to real_clock_timestamp;
alter function pg_catalog.statement_timestamp() rename to real_statement_timestamp;
alter function pg_catalog.now() rename to real_now;

create function pg_catalog.clock_timestamp() returns timestamptz language sql volatile parallel safe as
'select pg_catalog.real_clock_timestamp() + (select a.by from penstock_clock.advanced a)';
create function pg_catalog.statement_timestamp() returns timestamptz language sql stable parallel safe as
'select pg_catalog.real_statement_timestamp() + (select a.by from penstock_clock.advanced a)';
create function pg_catalog.now() returns timestamptz language sql stable parallel safe as
'select pg_catalog.real_now() + (select a.by from penstock_clock.advanced a)';
