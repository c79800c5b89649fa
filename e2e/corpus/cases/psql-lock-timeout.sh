# kind: database
# category: database
# decisive: canceling statement due to lock timeout
start_postgres
psql -c "create table orders (id bigint primary key)"
holder="select pg_sleep(1)"
good || holder="begin; lock table orders in access share mode; select pg_sleep(15); commit"
psql -q -o /dev/null -c "$holder" &
sleep 2
echo "adding a column"
psql -c "set lock_timeout = '2s'" -c "alter table orders add column note text"
