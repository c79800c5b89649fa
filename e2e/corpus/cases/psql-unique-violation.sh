# kind: database
# category: database
# decisive: duplicate key value violates unique constraint "customers_email_key"
start_postgres
psql -c "create table customers (id int primary key, email text unique)"
cat >seed.sql <<'END'
insert into customers values (1, 'one@example.test');
insert into customers values (2, 'two@example.test');
insert into customers values (3, 'three@example.test');
END
good || sed -i 's/three@/two@/' seed.sql
psql -f seed.sql
