# kind: package
# category: dependency
# decisive: ModuleNotFoundError: No module named 'shopconfig'
mkdir -p site
good && printf 'REGION = "eu"\n' >site/shopconfig.py
cat >migrate.py <<'END'
import logging
logging.basicConfig(level=logging.INFO)
logging.info("loading settings")
import shopconfig
logging.info("region %s", shopconfig.REGION)
END
PYTHONPATH=site python3 migrate.py
