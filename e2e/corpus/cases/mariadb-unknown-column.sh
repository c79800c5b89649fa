# kind: database
# category: database
# decisive: ERROR 1054 (42S22)
mkdir -p /tmp/mariadb
mariadb-install-db --no-defaults --datadir=/tmp/mariadb --auth-root-authentication-method=normal >/dev/null 2>&1
mariadbd --no-defaults --datadir=/tmp/mariadb --socket=/tmp/mariadb.sock --pid-file=/tmp/mariadb.pid --skip-networking >/dev/null 2>&1 &
wait_until "mariadb --no-defaults -u root --socket=/tmp/mariadb.sock -e 'select 1'"
client() { mariadb --no-defaults -u root --socket=/tmp/mariadb.sock --table "$@"; }
client -e "create database shop; create table shop.orders (id int primary key, cents int)"
good && client -e "alter table shop.orders add column region text"
echo "updating orders"
client -e "update shop.orders set region = 'eu' where id = 1; select count(*) from shop.orders"
