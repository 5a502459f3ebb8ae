# PID 1 of the guest, in busybox sh: what warrend needs, warrend, smoke.
export PATH=/bin:/warren
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ip link set lo up
echo "kernel $(uname -r), controllers $(cat /sys/fs/cgroup/cgroup.controllers)"
warrend --probe --data /data
warren --data /data migrate
warrend --data /data --run /run/warren --workers 1 &
i=0
while [ ! -S /run/warren/broker.sock ] && [ $i -lt 200 ]; do
	sleep 0.1
	i=$((i + 1))
done
v2-smoke-guest /run/warren
poweroff -f
