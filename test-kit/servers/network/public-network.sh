#!/bin/sh
# Runs a command where the public internet is this machine: a network of its own with some public addresses on loopback, two that
# are inside, for those who must not be reached, and a resolver that asks 127.0.0.1
# with the system's default settings. The service under test is the one that ships; nothing in it knows about this.
set -eu
ip link set lo up
for address in 93.184.216.34 93.184.216.35 10.0.0.1 169.254.169.254; do ip addr add "$address/32" dev lo; done
resolv=$(mktemp)
echo 'nameserver 127.0.0.1' >"$resolv"
mount --bind "$resolv" /etc/resolv.conf
rm -f "$resolv"
exec "$@"
