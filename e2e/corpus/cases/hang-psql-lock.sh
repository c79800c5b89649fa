# kind: hang
# category: timeout
# decisive: ALTER TABLE
# timeout: 30s
start_postgres
psql -c "create table orders (id bigint primary key)"
holder="select 1"
good || holder="begin; lock table orders; select pg_sleep(600)"
psql -q -o /dev/null -c "$holder" &
sleep 2
psql -e -c "/* ALTER TABLE waits for the lock */ alter table orders add column note text"
