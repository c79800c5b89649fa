# kind: configuration
# category: configuration
# decisive: KeyError: 'ORDERS_URL'
cat >settings.py <<'END'
import os

def load():
    return {"url": os.environ["ORDERS_URL"], "debug": os.environ.get("DEBUG", "0")}
END
cat >deploy.py <<'END'
import settings
print("reading settings")
print("deploying to", settings.load()["url"])
END
good && export ORDERS_URL=https://orders.example.test
python3 deploy.py
