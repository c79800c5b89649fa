# kind: package
# category: dependency
# decisive: E: Unable to locate package teapot-tools
mkdir -p repository/teapot/DEBIAN state/lists/partial cache/archives/partial
name=teapot-tools
good || name=teapot-utils
printf 'Package: %s\nVersion: 1.4-1\nArchitecture: all\nMaintainer: Shop <shop@example.test>\nDescription: Tools\n' "$name" >repository/teapot/DEBIAN/control
dpkg-deb --root-owner-group --build repository/teapot "repository/$name.deb"
{ dpkg-deb --field "repository/$name.deb" && printf 'Filename: ./%s.deb\nSize: %s\n' "$name" "$(stat -c %s "repository/$name.deb")"; } >repository/Packages
echo "deb [trusted=yes] file:$PWD/repository ./" >sources.list
options="-o Dir::State=$PWD/state -o Dir::State::status=/var/lib/dpkg/status -o Dir::Cache=$PWD/cache -o Dir::Etc::sourcelist=$PWD/sources.list -o Dir::Etc::sourceparts=- -o APT::Sandbox::User="
# shellcheck disable=SC2086
apt-get $options update
# shellcheck disable=SC2086
apt-get $options install --simulate --yes teapot-tools
