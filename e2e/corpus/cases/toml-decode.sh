# kind: configuration
# category: configuration
# decisive: tomllib.TOMLDecodeError
printf '[server]\nport = 8080\nhost = "127.0.0.1"\n' >service.toml
good || sed -i 's/port = 8080/port = 8080s/' service.toml
cat >check.py <<'END'
import pathlib
import tomllib
settings = tomllib.loads(pathlib.Path("service.toml").read_text())
print("port", settings["server"]["port"])
END
python3 check.py
