# kind: configuration
# category: configuration
# decisive: DEPLOY_TARGET: unbound variable
good && export DEPLOY_TARGET=staging
cat >deploy.sh <<'END'
set -u
echo "collecting the release"
echo "deploying to $DEPLOY_TARGET"
END
bash deploy.sh
