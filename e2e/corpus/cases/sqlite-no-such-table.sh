# kind: database
# category: database
# decisive: no such table: prices
cat >load.py <<'END'
import sqlite3
connection = sqlite3.connect("shop.db")
connection.executescript(open("schema.sql").read())
print("loading prices")
connection.execute("insert into prices values (1, 350)")
connection.commit()
print("1 price loaded")
END
echo 'create table if not exists products (id integer primary key, name text);' >schema.sql
good && echo 'create table if not exists prices (id integer primary key, cents int);' >>schema.sql
python3 load.py
