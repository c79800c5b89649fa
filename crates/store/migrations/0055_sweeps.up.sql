-- When a sweeper last ran, by the database's clock; null before the first time. A longer time without one is an absence of
-- the installation, in which deadlines of presence do not run.
create table sweeps (
    singleton boolean primary key default true check (singleton),
    swept_at timestamptz
) with (fillfactor = 50);
insert into sweeps default values;
