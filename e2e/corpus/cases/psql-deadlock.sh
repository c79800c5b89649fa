# kind: database
# category: database
# decisive: ERROR:  deadlock detected
start_postgres
psql -q -c "create table stock (id int primary key, count int)" -c "insert into stock values (1, 5), (2, 5)"
first="begin; update stock set count = 4 where id = 1; select pg_sleep(2); update stock set count = 4 where id = 2; commit;"
second="begin; update stock set count = 3 where id = 2; select pg_sleep(4); update stock set count = 3 where id = 1; commit;"
good && second="begin; select pg_sleep(3); update stock set count = 3 where id = 1; update stock set count = 3 where id = 2; commit;"
psql -q -o /dev/null -c "$first" 2>/dev/null &
sleep 1
echo "booking the stock"
psql -c "set deadlock_timeout = '100ms'" -c "$second"
