# The harness of a case: `bash harness.sh CASE`. It prints noise, runs the case between two marks, and ends with its exit code.
# GOOD is set in good runs; RUN is the name of the run, such as `bad-1`.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
case=$1
[ -e "$here/run.env" ] && . "$here/run.env"
export GOOD=${GOOD:-}

# For scripts of cases, which are sourced by a shell with `errexit`.
good() { [ -n "$GOOD" ]; }
wait_until() {
  for _ in $(seq 300); do
    if eval "$1" >/dev/null 2>&1; then return 0; fi
    sleep 0.1
  done
  echo "harness: not within 30 s: $1"
  return 1
}
wait_for_port() { wait_until "nc -z 127.0.0.1 $1"; }
# Starts a PostgreSQL server whose client needs no options. Arguments are settings of the server.
start_postgres() {
  export PATH=/usr/lib/postgresql/15/bin:$PATH PGHOST=/tmp PGUSER=app PGDATABASE=postgres PSQLRC=/dev/null
  initdb --pgdata=/tmp/postgres --username=app --auth=trust --no-locale --encoding=UTF8 --no-sync >/dev/null
  pg_ctl -D /tmp/postgres -o "-k /tmp -c listen_addresses=127.0.0.1 -c fsync=off $*" -l /tmp/postgres.log -w start
  psql() { command psql -X -v ON_ERROR_STOP=1 "$@"; }
}
# Makes an OCI image with one layer, tagged `1`.
make_image() {
  umoci init --layout "$1"
  umoci new --image "$1:1"
  mkdir -p layer/bin && head -c 20000 /usr/bin/env >layer/bin/shop
  umoci insert --rootless --image "$1:1" layer/bin /bin
}
make_authority() {
  openssl req -x509 -newkey rsa:2048 -nodes -keyout authority.key -out authority.pem -subj "/CN=Test Authority" -days 3650 2>/dev/null
  mkdir -p issued && : >issued/index && echo 01 >issued/serial
  printf '[ca]\ndefault_ca=d\n[d]\nnew_certs_dir=issued\ndatabase=issued/index\nserial=issued/serial\ndefault_md=sha256\npolicy=p\ncopy_extensions=copy\n[p]\ncommonName=supplied\n' >issued/settings
}
# make_certificate HOST END: a certificate of the authority.
make_certificate() {
  openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj "/CN=$1" -addext "subjectAltName=DNS:$1" 2>/dev/null
  openssl ca -batch -notext -config issued/settings -cert authority.pem -keyfile authority.key -in server.csr -out server.pem \
    -startdate 20240101000000Z -enddate "$2" 2>/dev/null
}
export -f good wait_until wait_for_port start_postgres make_image make_authority make_certificate

export HOME=/tmp LANG=C.UTF-8 TZ=UTC CARGO_HOME=/tmp/cargo GOCACHE=/tmp/go-cache GOPATH=/tmp/go GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local
export npm_config_cache=/tmp/npm npm_config_update_notifier=false PYTHONDONTWRITEBYTECODE=1 XDG_RUNTIME_DIR=/tmp/run
mkdir -p /tmp/run /tmp/work
cd /tmp/work || exit 1
[ -e "$here/noise/before" ] && cat "$here/noise/before"
echo "--- corpus: begin $(hostname)"
bash -eo pipefail "$here/cases/$case.sh" 2>&1
status=$?
[ $status -ne 0 ] || echo "--- corpus: end"
exit $status
