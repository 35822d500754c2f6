# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# What a Bench may use up, how long it may live, that it is frozen when it is told to be, and the
# image it is made of.
: "${e2e:?}" "${repo:?}" "${tmp:?}" "${disk:?}"

cgroup=/sys/fs/cgroup/benchmon

killed() { # the daemon, and started again
	daemon_pid
	kill -9 "$daemon"
	soon gone "$daemon"
	bm ls
	ended 0
}

stands_still() { # BENCH
	grep -q '^frozen 1' "$cgroup/$1/cgroup.events"
}

moves() { # BENCH
	grep -q '^frozen 0' "$cgroup/$1/cgroup.events"
}

in_ledger() { # WORDS...: in one line
	local line=$(</var/lib/benchmon/ledger.jsonl) words
	for words; do
		line=$(grep -F -- "$words" <<<"$line") || fail "no line of the ledger has $words"
	done
}

case_frozen() {
	mkdir "$disk/src"
	make_bench e1
	bm grant e1 file "$disk/src:/in" --yes
	ended 0
	bm freeze e1
	did 'e1 is frozen; `benchmon thaw` lets it go on'
	stands_still e1 || fail 'it is not frozen'
	in_ledger '"event":"freeze"' '"bench":"e1"' '"uid":0'
	bm ls
	did 'e1    frozen  created'
	bm exec e1 -- true
	refused 125 'Bench e1 is frozen (rule: frozen); `benchmon thaw` it'
	bm grant e1 file "$disk/src:/in2" --yes
	refused 125 'Bench e1 is frozen (rule: frozen)'
	# To take away goes on, and does not let it run.
	bm revoke e1/1
	did
	stands_still e1 || fail 'the revocation has thawed it'
	bm freeze e1 --format json
	did '"state":"frozen"'
	same 1 "$(grep -c '"event":"freeze"' /var/lib/benchmon/ledger.jsonl)" 'lines of the ledger'
	killed
	stands_still e1 || fail 'a restart has thawed it'
	# Who may write there is root; a restart puts it right.
	echo 0 >"$cgroup/e1/cgroup.freeze"
	soon moves e1
	killed
	stands_still e1 || fail 'a restart has left it thawed'
	bm thaw e1
	did 'e1 goes on'
	moves e1 || fail 'it is still frozen'
	bm exec e1 -- true
	did
	bm thaw e1
	did 'e1 goes on'
	bm freeze e1
	did
	bm destroy e1
	did 'e1 destroyed'
	for verb in freeze thaw; do
		bm "$verb" e1
		refused 125 'there is no Bench "e1"'
	done
	rmdir "$disk/src"
}

kept() { # a task of f1 is in a write that the kernel does not come back from
	fsfreeze -f "$tmp/stuck"
	benchmon exec f1 -T -- touch /in/stuck/file >"$tmp/held" 2>&1 </dev/null &
	soon in_cgroup f1 D
}

# A task that the kernel keeps makes nobody wait but who asked.
case_kept() {
	mkdir "$tmp/stuck"
	truncate -s 8M "$tmp/stuck.img"
	mkfs.ext4 -q "$tmp/stuck.img"
	mount -o loop "$tmp/stuck.img" "$tmp/stuck"
	make_bench f1
	make_bench f2
	bm grant f1 file "$tmp/stuck:/in/stuck:rw" --yes
	did 'f1/1 granted'
	kept
	py freezing awaited "$tmp/stuck"
	printf '%s\n' "$out"
	same 1 "$(grep '"event":"freeze"' /var/lib/benchmon/ledger.jsonl | grep -c '"bench":"f1"')" 'lines of the ledger'
	bm thaw f1
	did
	wait
	kept
	py freezing thawed
	py freezing late
	py freezing unheard "$tmp/stuck"
	bm thaw f1
	did
	wait
	# The next daemon carries it through.
	kept
	py freezing begun
	stop_daemon
	fsfreeze -u "$tmp/stuck"
	bm ls
	did 'f1    frozen'
	bm thaw f1
	did
	bm destroy f1
	did
	bm destroy f2
	did
	umount "$tmp/stuck"
	rm -r "$tmp"/{stuck,stuck.img,held}
}

# Frozen for a moment by a daemon that was killed in it: nobody else would thaw it. But for one that
# somebody has frozen by hand.
case_forgotten() {
	make_bench e1
	echo 1 >"$cgroup/e1/cgroup.freeze"
	killed
	stands_still e1 || fail 'thawed, and it was not ours to do'
	python3 -c 'import os, sys; os.setxattr(sys.argv[1], "trusted.benchmon.pause", b"")' "$cgroup/e1"
	killed
	moves e1 || fail 'it is still frozen'
	python3 -c 'import os, sys; sys.exit("trusted.benchmon.pause" in os.listxattr(sys.argv[1]))' \
		"$cgroup/e1" || fail 'the mark is left'
	bm destroy e1
	did
}

case_limits() {
	make_bench e1 --memory 64M --pids 40 --cpus 0.5 --disk 32M
	same 67108864 "$(<"$cgroup/e1/memory.max")" memory.max
	same 0 "$(<"$cgroup/e1/memory.swap.max")" memory.swap.max
	same 40 "$(<"$cgroup/e1/pids.max")" pids.max
	same '50000 100000' "$(<"$cgroup/e1/cpu.max")" cpu.max
	bm show e1
	did 'limits     memory 64M, disk 32M, pids 40, cpus 0.5'
	narrow
	bm show e1 --format json
	did '"limits":{"memory":67108864,"pids":40,"cpus":500,"disk":33554432}'
	# /work and the root file system share it.
	bm exec e1 -- dd if=/dev/zero of=/work/big bs=1M count=20 status=none
	did
	bm exec e1 -- dd if=/dev/zero of=/var/big bs=1M count=20 status=none
	ended 1
	[[ $err == *'No space left on device'* ]] || fail 'there was room for more'
	bm exec e1 -- rm /work/big /var/big
	did
	bm exec e1 -- sh -c 'echo fits >/work/small && cat /work/small'
	did fits
	killed
	bm show e1
	did 'limits     memory 64M, disk 32M, pids 40, cpus 0.5'
	bm exec e1 -- cat /work/small
	did fits
	same 1 "$(losetup --list --noheadings --output BACK-FILE | grep -c /benches/e1/disk)" disks
	bm destroy e1
	did
	same '' "$(losetup --list --noheadings --output BACK-FILE | grep /benches/)" 'disks that are left'
}

case_limits_wrong() {
	local value
	for value in 0 0.001 1.2345 x 1. .5 -1 4097 99999999999 ''; do
		bm create e1 --cpus "$value"
		refused 2 '--cpus'
	done
	bm create e1 --disk 1M
	refused 125 'the limit of disk is too low for anything to run (rule: limits); at least 16M'
	bm create e1 --disk 1x
	refused 2 '1x'
	for value in 0s 1 367d x; do
		bm create e1 --timeout "$value"
		refused 2 "$value"
	done
	# What is made for it is taken back: no mkfs, no disk.
	mv /sbin/mkfs.ext4 "$tmp/mkfs" 2>/dev/null || mv /usr/sbin/mkfs.ext4 "$tmp/mkfs"
	bm create e1 --disk 32M
	mv "$tmp/mkfs" /usr/sbin/mkfs.ext4
	refused 125 'there is no mkfs.ext4 to make a disk with (rule: limits); install e2fsprogs'
}

none_left() {
	[[ $(benchmon ls --format json </dev/null) == '{"benches":[]}' ]]
}

case_timeout() {
	make_bench e1 --timeout 2s
	bm show e1
	printed 'limits     until '
	bm exec e1 -- sleep infinity
	[[ $code -eq 137 || $code -eq 125 ]] || fail "exit code $code"
	soon none_left
	in_ledger '"event":"destroy"' '"bench":"e1"' '"reason":"time limit"'
	# With the daemon dead nobody does it; who comes next does.
	make_bench e2 --timeout 3s
	daemon_pid
	kill -9 "$daemon"
	soon gone "$daemon"
	[[ -d $cgroup/e2 ]] || fail 'gone too early'
	soon past "$EPOCHSECONDS" 4
	soon none_left
	[[ ! -d $cgroup/e2 ]] || fail 'it has outlived its time'
	in_ledger '"event":"destroy"' '"bench":"e2"' '"reason":"time limit"'
	# A run that takes longer.
	bm run --timeout 2s -- sleep infinity
	[[ $code -ne 0 && $err == *' had been destroyed already: time limit' ]] || fail 'nobody is told'
	soon none_left
}

past() { # SECONDS-SINCE-1970 SECONDS
	((EPOCHSECONDS >= $1 + $2))
}

# Layers, as podman mounts them: the upper hides of the lower, and none is written to.
case_image() {
	local image=$disk/image
	mkdir -p "$tmp/fake" "$tmp/mnt" "$image"/{one,two}/etc
	echo two >"$image/one/etc/both"
	echo one >"$image/two/etc/both"
	echo low >"$image/two/etc/low"
	echo gone >"$image/two/etc/gone"
	mknod "$image/one/etc/gone" c 0 0
	cp /bin/busybox "$image/two/busybox"
	mkdir -p "$image/two"/{proc,dev,sys,tmp,work}
	mount -t overlay -o "ro,lowerdir=$image/one:$image/two" e2e "$tmp/mnt"
	cat >"$tmp/fake/podman" <<-END
		#!/bin/sh
		echo "\$*" >>"$tmp/fake/log"
		[ "\$2" != mount ] || echo "$tmp/mnt"
	END
	chmod 755 "$tmp/fake/podman"
	PATH=$tmp/fake:$PATH
	find "$image" >"$tmp/image-before"
	make_bench e1 --image some/image:1
	same 'image mount some/image:1 image unmount some/image:1' "$(xargs <"$tmp/fake/log")"
	# It is not needed any more.
	umount "$tmp/mnt"
	bm exec e1 -- /busybox sh -c 'cd /etc && /busybox cat both low && echo * && echo >new'
	did $'two\nlow\nboth low'
	killed
	bm exec e1 -- /busybox cat /etc/both /etc/new
	did two
	bm destroy e1
	did
	find "$image" | diff "$tmp/image-before" - || fail 'the image has been written to'
	bm create e1 --image x --rootfs "$image/two"
	refused 2 '--image and --rootfs are two root file systems'
	# A container's, and a part of one.
	mkdir -p "$image"/{upper,workdir}
	mount -t overlay -o "lowerdir=$image/one:$image/two,upperdir=$image/upper,workdir=$image/workdir" \
		e2e "$tmp/mnt"
	bm create e1 --image x
	refused 125 'the root file system is an overlay that is being written to (rule: image)'
	umount "$tmp/mnt"
	mount -t overlay -o "ro,lowerdir=$image/one:$image/two" e2e "$tmp/mnt"
	bm create e1 --rootfs "$tmp/mnt/etc"
	refused 125 'the root file system is part of an overlay and not all of it (rule: image)'
	umount "$tmp/mnt"
	rmdir "$tmp/mnt"
	rm -r "$image" "$tmp/fake"
}
