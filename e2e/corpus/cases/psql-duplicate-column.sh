# kind: database
# category: database
# decisive: column "discount" of relation "orders" already exists
start_postgres
mkdir -p migrations
echo 'create table orders (id bigint primary key, cents int not null);' >migrations/001_orders.sql
echo 'alter table orders add column note text;' >migrations/002_note.sql
echo 'alter table orders add column discount int not null default 0;' >migrations/003_discount.sql
good || cp migrations/003_discount.sql migrations/004_discount.sql
for file in migrations/*.sql; do
  echo "applying $file"
  psql -f "$file"
done
