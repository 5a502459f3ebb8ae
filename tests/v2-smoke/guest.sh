# PID 1 of the guest, in busybox sh: what warrend needs, warrend, smoke.
export PATH=/bin:/warren
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
for module in quota_tree quota_v2; do
	insmod /warren/$module.ko
done
mount -t ext4 -o prjquota /dev/vdb /data
ip link set lo up
echo "kernel $(uname -r), controllers $(cat /sys/fs/cgroup/cgroup.controllers)"
warrend --probe --data /data
warren --data /data migrate
# A handler of crashes: warrend does not start with it, unless it is told to.
printf '#!/bin/sh\necho >>/run/crashes\n' >/run/handler
chmod 0755 /run/handler
echo '|/run/handler' >/proc/sys/kernel/core_pattern
if warrend --data /data --run /run/warren --workers 1 2>/run/said; then
	echo "not ok - warrend starts with a handler of crashes"
fi
grep -q sysctl /run/said && echo "ok - a handler of crashes is refused"
warrend --data /data --run /run/warren --workers 1 --allow-core-handler &
broker=$!
i=0
while [ ! -S /run/warren/broker.sock ] && [ $i -lt 200 ]; do
	sleep 0.1
	i=$((i + 1))
done
v2-smoke-guest /run/warren
# The unit test gives out the same projects on the same file system, so that
# nothing of the broker's may be left there.
kill $broker
wait $broker
rm -rf /data/sandboxes
# What it skips it says so; then nothing was tested.
DISK_QUOTA_DIR=/data/unit unit-sandbox-test_disk_quota >/tmp/quota 2>&1 &&
	! grep skipped /tmp/quota && echo "quota: all claims hold" ||
	cat /tmp/quota
poweroff -f
