# kind: database
# category: database
# decisive: relation "vouchers" does not exist
start_postgres
psql -c "create table orders (id bigint primary key, cents int not null)"
good && psql -c "create table vouchers (id bigint primary key, percent int not null)"
psql -c "insert into orders values (1, 350), (2, 990)"
psql -c "select count(*) from orders"
psql -c "insert into vouchers values (1, 10)"
