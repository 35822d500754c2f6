# shellcheck shell=bash disable=SC2034,SC2154
# The machine the cases run on: a root file system for Benches, a disk whose files can be granted, a
# network beyond the host; what is on it now, and how to get rid of it.
: "${e2e:?}" "${repo:?}"

server=198.51.100.10

# On a machine of somebody's own its record is left alone, and so are its Benches.
machine_taken() {
	local dir
	if [[ ! -e /run/vm/guest ]]; then
		set -- /sys/fs/bpf/benchmon/benches/*
		if [[ -e $1 ]]; then
			echo 'e2e: there are Benches on this machine; detach or destroy them first'
			return 1
		fi
	fi
	# A daemon that is there may be another version.
	if daemon_pid; then
		kill "$daemon" || return 1
		soon gone "$daemon"
	fi
	[[ ! -e /run/vm/guest ]] || return 0
	for dir in /run/benchmon /var/lib/benchmon /var/log/benchmon; do
		mkdir -p "$dir" && mount -t tmpfs -o mode=755 e2e "$dir" || return 1
		covered+=("$dir")
	done
}

machine_up() {
	local image
	[[ $(id -u) -eq 0 ]] || return 1
	image=$("$repo/tools/rootfs") || return 1
	exec {never}<> <(:) || return 1
	covered=() tmp=
	trap machine_down EXIT
	machine_taken || return 1
	tmp=$(mktemp -d /tmp/e2e.XXXXXX) || return 1
	chmod 755 "$tmp"
	export E2E_RUN=$tmp
	mkdir "$tmp/rootfs" "$tmp/disk" || return 1
	mount -o loop,ro "$image" "$tmp/rootfs" || return 1
	export BENCHMON_ROOTFS=$tmp/rootfs
	truncate -s 64M "$tmp/image" || return 1
	mkfs.ext4 -q -O ^has_journal "$tmp/image" || return 1
	mount -o loop "$tmp/image" "$tmp/disk" || return 1
	disk=$tmp/disk
	network_up || return 1
	helpers_up || return 1
	benchmon ls >/dev/null || return 1
}

# A server beyond the host, in a network namespace that is no Bench's.
network_up() {
	local ready
	ip netns add e2e-world || return 1
	ip -batch - <<-END || return 1
		link add e2e0 type veth peer name e2e1 netns e2e-world
		address add 198.51.100.1/24 dev e2e0
		link set e2e0 up
		address add 10.99.0.1/32 dev e2e0
	END
	ip -n e2e-world -batch - <<-END || return 1
		address add $server/24 dev e2e1
		link set e2e1 up
		link set lo up
	END
	exec {ready}< <(exec ip netns exec e2e-world python3 -B -S -s "$e2e/helpers/serve.py" \
		"$server" 8080 8081)
	read -rt 60 -u "$ready" _ || return 1
	world=$!
}

# The Python that all helpers are run by.
helpers_up() {
	mkfifo "$tmp/requests" "$tmp/answers" || return 1
	exec {requests}<>"$tmp/requests" {answers}<>"$tmp/answers"
	python3 -B -S -s "$e2e/helpers/server.py" "$tmp/requests" "$tmp/answers" \
		</dev/null >"$tmp/server" 2>&1 &
	helpers=$!
}

machine_down() {
	[[ -z ${helpers-} ]] || clean_up
	[[ -z ${helpers-} ]] || kill "$helpers"
	[[ -z ${world-} ]] || kill "$world"
	daemon_pid && kill "$daemon" && soon gone "$daemon"
	ip link delete e2e0
	ip netns delete e2e-world
	[[ -z $tmp ]] || umount -l "$tmp/disk" "$tmp/rootfs"
	[[ ${#covered[@]} -eq 0 ]] || umount -l "${covered[@]}"
	[[ -z $tmp ]] || rm -rf -- "$tmp"
} 2>/dev/null

# Whatever a case that failed may have left.
clean_up() {
	local name id pid
	machine_state "$tmp/after"
	while read -r pid name; do
		[[ $name == gatekeeperd ]] || kill -9 "$pid"
	done < <(grep -vxFf "$tmp/topic" "$tmp/after" | sed -n 's/^process //p')
	timeout 60 benchmon ls --format json </dev/null >"$tmp/list"
	while read -r name; do
		timeout 60 benchmon detach "$name" || timeout 60 benchmon destroy "$name"
	done < <(grep -o '"name":"[^"]*"' "$tmp/list" | cut -d '"' -f 4)
	for id in "$tmp"/c/*; do
		crun delete --force "${id##*/}"
	done
	for name in "$tmp"/v1 "$tmp"/c/*/rootfs "$tmp"/mnt*; do
		umount -l "$name"
	done
	for name in /sys/fs/cgroup/e2e*; do
		echo 1 >"$name/cgroup.kill"
		find "$name" -depth -type d -exec rmdir {} +
	done
	find "$disk" -mindepth 1 -maxdepth 1 ! -name lost+found -exec rm -rf --one-file-system {} +
	rm -rf --one-file-system "$tmp"/c "$tmp"/mnt*
} >/dev/null 2>&1

# One line for each thing that benchmon makes and might leave.
machine_state() { # FILE
	helper state "$1" $$
}

# What the programs in the kernel decide by. Of a Bench that lives it may change, so this is looked
# at when a topic is over.
maps_state() {
	local map
	for map in benches grants excepts destinations stats; do
		echo "map dump pinned /sys/fs/bpf/benchmon/maps/$map"
	done >"$tmp/dump"
	bpftool batch file "$tmp/dump" 2>&1 | sort
}

remember() {
	machine_state "$tmp/before"
}

as_before() {
	machine_state "$tmp/after"
	cmp -s "$tmp/before" "$tmp/after"
}

# The daemon hears of the end of a connection when it comes to it, and a link of the kernel goes in
# the background.
nothing_left() {
	local end=$((SECONDS + 180))
	until as_before; do
		if ((SECONDS >= end)); then
			echo 'left behind (+), or missing (-):'
			diff -U 0 "$tmp/before" "$tmp/after" | grep '^[+-][^+-]'
			daemon_pid && readlink "/proc/$daemon/fd/"* | sort | uniq -c
			return 1
		fi
		tick
	done
}
