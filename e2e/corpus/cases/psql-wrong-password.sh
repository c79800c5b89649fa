# kind: database
# category: database
# decisive: password authentication failed for user "shop"
start_postgres
psql -q -c "create role shop login password 'green'" -c "create database shop owner shop"
sed -i 's/trust$/scram-sha-256/' /tmp/postgres/pg_hba.conf
password=green
good || password=black
export PGPASSWORD=app
pg_ctl -D /tmp/postgres reload
echo "migrating the database shop"
PGPASSWORD=$password psql -h 127.0.0.1 -U shop -d shop -c "create table orders (id bigint primary key)"
