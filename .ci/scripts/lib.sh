# shellcheck shell=bash
# Shared by the scripts of this folder, which are started by the runner with these variables:
#   CI_WORK     a folder for files that later steps read
#   CI_NOTE     the file for the step's note in the summary
#   CI_JSON     the file for its report
#   CI_PARTIAL  a file that it creates if a part of its checks could not be made
#   CI_TURN     the number of its turn, for a step that does one part of its work in each run
#   CI_STACK, CI_DEMO_STACK, CI_BROWSER_STACK  names of stacks, which are reset at the end
#   CI_CACHE    the folder of caches
set -euo pipefail

# note TEXT: shows a text in the summary.
note() {
  printf '%s' "$*" >"$CI_NOTE"
}

# fact FILE KEY: prints a value of a JSON file, such as the output of dev/stack.
fact() {
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"
}

# apt PACKAGE …: installs what is missing.
apt() {
  dpkg -s "$@" >/dev/null 2>&1 || { apt-get -qq update && apt-get -qq install --yes --no-install-recommends "$@"; }
}
