# kind: database
# category: database
# decisive: database is locked
sqlite3 shop.db "create table orders (id integer primary key, cents int); insert into orders values (1, 350);"
if ! good; then
  (echo "begin exclusive; select 1;"; sleep 10) | sqlite3 shop.db >/dev/null &
  sleep 1
fi
echo "migrating shop.db"
sqlite3 -bail shop.db "alter table orders add column note text;"
sqlite3 shop.db .schema
