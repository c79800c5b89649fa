# kind: gate
# category: gate
# decisive: SC2086
printf '#!/bin/sh\nset -eu\nname=$1\necho "deploying $name"\nrm -rf "/tmp/$name"\n' >deploy.sh
good || sed -i 's#"/tmp/$name"#/tmp/$name#' deploy.sh
printf '#!/bin/sh\necho "the end"\n' >end.sh
echo "checking 2 scripts"
shellcheck end.sh deploy.sh
