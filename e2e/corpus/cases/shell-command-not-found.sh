# kind: configuration
# category: configuration
# decisive: render-chart: command not found
mkdir -p bin
good && printf '#!/bin/sh\necho "chart $1 rendered"\n' >bin/render-chart && chmod +x bin/render-chart
printf 'echo "rendering charts"\nrender-chart shop\n' >deploy.sh
PATH=$PWD/bin:$PATH bash -e deploy.sh
