# kind: gate
# category: gate
# decisive: would reformat
mkdir -p app
printf 'LIMIT = 20\n' >app/limit.py
printf 'PRICES = {"tea": 350, "cup": 990}\n' >app/prices.py
good || printf "PRICES = {'tea':350,'cup':990}\n" >app/prices.py
BLACK_CACHE_DIR=$PWD/cache black --check --verbose app
