# kind: database
# category: database
# decisive: sorry, too many clients already
limit=20
good || limit=6
start_postgres -c max_connections=$limit -c superuser_reserved_connections=0 -c max_wal_senders=0 -c max_worker_processes=0 -c autovacuum=off
for worker in 1 2 3 4 5 6; do
  psql -q -o /dev/null -c "select pg_sleep(20)" &
done
sleep 2
echo "6 workers run; starting the migration"
psql -c "select 1 as ready"
