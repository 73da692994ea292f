#!/bin/sh
# A machine of its own for the pages: Debian's systemd as the first process, on a copy-on-write view of this machine's root file system, in
# namespaces; its network is that of the caller. Needs root and a Debian on which postgresql, haproxy and pgbackrest are installed.
# usage: boot-machine.sh NAME FOLDER (in which the view is mounted) REPOSITORY
set -eu
name=$1 folder=$2 repository=$3
for hierarchy in systemd unified; do
  [ -d /sys/fs/cgroup/$hierarchy ] || continue
  mkdir -p "/sys/fs/cgroup/$hierarchy/$name"
  echo $$ >"/sys/fs/cgroup/$hierarchy/$name/cgroup.procs"
done
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mkdir -p "/sys/fs/cgroup/$name"
  echo $$ >"/sys/fs/cgroup/$name/cgroup.procs"
fi
mkdir -p "$folder"
exec unshare --mount --pid --fork --uts --ipc --cgroup --kill-child sh -euc '
folder=$1 repository=$2 root=$1/root
mount --make-rprivate /
mount -t tmpfs tmpfs "$folder"
mkdir "$folder/changed" "$folder/work" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/changed,workdir=$folder/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys" 2>/dev/null || mount --rbind /sys "$root/sys"
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
  mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
  mkdir "$root/sys/fs/cgroup/systemd" "$root/sys/fs/cgroup/unified"
  mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup/unified"
fi
for path in run tmp; do mount -t tmpfs tmpfs "$root/$path"; done
chmod 1777 "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
# The clone of the repository, with what was built in it.
mkdir -p "$root/srv/shopwire"
mount --rbind "$repository" "$root/srv/shopwire"
cd "$root"
mkdir -p former
pivot_root . former
umount -l /former
mount --make-rshared /
hostname shop
printf "127.0.0.1 localhost shop\n127.0.0.1 api.example.com dashboard.example.com\n" >/etc/hosts
# Nothing of this machine is started but what the pages start.
rm -f /etc/systemd/system/*.wants/*
ln -sf /lib/systemd/system/multi-user.target /etc/systemd/system/default.target
export container=other
exec /lib/systemd/systemd
' sh "$folder" "$repository"
