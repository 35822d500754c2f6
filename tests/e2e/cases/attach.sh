# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# Containers that exist: walled in where they are, and let go again.
: "${e2e:?}" "${tmp:?}" "${disk:?}"

# shellcheck source=tests/e2e/containers.sh
. "$e2e/containers.sh"

setup() {
	# Made by the first of its containers, and then its operator's.
	mkdir -p /sys/fs/cgroup/e2e
	mkdir -p "$disk/src" "$disk/vol"
	echo hello >"$disk/src/file"
	running c1 plain
}

teardown() {
	removed c1
	rmdir /sys/fs/cgroup/e2e
	rm -r "$disk/src" "$disk/vol"
}

attached() { # BENCH CONTAINER...
	bm attach "$@"
	did "$1 attached (ready): nothing is granted"
}

detached() { # BENCH COUNT: of grants
	bm detach "$1"
	did "$1 detached, grants revoked: $2; nothing is enforced on it any more"
}

volume_open() { # CONTAINER
	in_container "$1" /busybox cat /vol/secret
	did secret
}

volume_closed() { # CONTAINER: though it is there
	in_container "$1" /busybox cat /vol/secret
	[[ $code -ne 0 && $err == *'Permission denied'* ]] || fail 'a volume of the host is open'
}

volume_gone() { # CONTAINER
	empty "$1" /vol
	in_container "$1" /busybox cat /vol/secret
	[[ $code -ne 0 && $err == *'No such file or directory'* ]] || fail 'a volume is still there'
}

walls_of() { # PID CGROUP: into $out, what there is in its network namespace and on its cgroup
	out=$(nsenter -n -t "$1" nft list tables)$(bpftool cgroup list "/sys/fs/cgroup$2" |
		grep -o 'cgroup_inet[0-9a-z_]*\|cgroup_udp[0-9a-z_]*')
}

# Before its first instruction there are walls, and crun can start it all the same.
first_act() { # KIND
	bundle first "$1" . /busybox cat /vol/secret
	created first
	attached a1 first
	bm show a1
	did 'state      ready' 'origin     attached' 'container  first' 'cgroup     /e2e/first' \
		"detached   /vol (ext4), on the host $disk/vol" 'grants     none'
	narrow
	mounted_back "$pid"
	started first
	it_said first
	[[ $out == *'Permission denied'* && $out != *$'\n'*secret* ]] ||
		fail "its first act was not denied: $out"
	bm events --bench a1 --format json
	printed '"hook":"file_open"' '"rule":"no-grant"' '"path":"/vol/secret"' '"comm":"busybox"'
	bm ls
	did 'a1    ended  attached'
	bm exec a1 -- /busybox true
	refused 125 'Bench a1 has ended; `benchmon detach` it'
	bm grant a1 file "$disk/src" --yes
	refused 125 'Bench a1 has ended; `benchmon detach` it'
	detached a1 0
	removed first
}

case_created_plain() {
	first_act plain
}

case_created_userns() {
	first_act userns
}

# Nor is its volume there any more.
case_created_detached() {
	bundle first plain . /busybox cat /vol/secret
	created first
	attached a1 first
	started first
	it_said first
	[[ $out == *"can't open '/vol/secret': No such file or directory"* ]] ||
		fail "it met its volume: $out"
	detached a1 0
	removed first
}

# The same, unattached: the denial is the walls' doing.
case_created_free() {
	bundle first plain . /busybox cat /vol/secret
	created first
	started first
	it_said first
	same secret "$out" 'what a container says that is left alone'
	removed first
}

# Its operator goes on using it, within the walls; what is granted comes while it runs, and goes.
life() { # CONTAINER PID HOW...
	local container=$1 pid=$2
	shift 2
	mounted_back "$pid"
	volume_open "$container"
	attached a1 "$@"
	did "detached: /vol (ext4), on the host $disk/vol"
	walls_of "$pid" "/e2e/$container"
	printed 'table inet benchmon' cgroup_inet_egress cgroup_inet_ingress cgroup_inet4_connect \
		cgroup_inet6_connect cgroup_udp4_sendmsg cgroup_udp6_sendmsg
	in_container "$container" /busybox echo works
	did works
	# Its own cgroup alone is in sight.
	in_container "$container" /busybox cat /sys/fs/cgroup/cgroup.procs
	did 1
	volume_gone "$container"
	mounted_back "$pid"
	volume_closed "$container"
	bm exec a1 -- /busybox cat /vol/secret
	[[ $code -eq 1 && $err == *'Permission denied'* ]] || fail 'a volume of the host is open'
	bm grant a1 file "$disk/src:/in/src" --yes
	did "a1/1 granted: $disk/src as /in/src, ro"
	in_container "$container" /busybox cat /in/src/file
	did hello
	in_container "$container" /busybox sh -c 'echo x >/in/src/new'
	[[ $err == *'Read-only file system'* ]] || fail 'written to what is ro'
	volume_closed "$container"
	detached a1 1
	walls_of "$pid" "/e2e/$container"
	same '' "$out" 'what is left of the walls'
	in_container "$container" /busybox ls /in
	same '' "$out" 'what is left of the grant'
	volume_open "$container"
}

case_by_id() {
	pid_of c1
	life c1 "$pid" c1
}

case_by_pid() {
	pid_of c1
	life c1 "$pid" --pid "$pid"
}

case_by_cgroup() {
	pid_of c1
	life c1 "$pid" --cgroup /e2e/c1
	bm attach a1 --cgroup /sys/fs/cgroup/e2e/c1/ --format json
	did '"name":"a1"' '"origin":"attached"' '"cgroup":"/e2e/c1"'
	cp "$tmp/out" "$tmp/json"
	bm detach a1 --format json
	did '"bench":"a1"' '"revoked":[]'
	cat "$tmp/out" >>"$tmp/json"
	py jsonlines "$tmp/json"
	rm "$tmp/json"
}

case_userns() {
	running c2 userns
	life c2 "$pid" c2
	removed c2
}

# O_ASYNC on the operator's terminal would name its foreground group, and that is the operator.
case_terminal() {
	local arm='$| = 1; fcntl(STDIN, 10, 9) or die; fcntl(STDIN, 4, 020002) or die "refused: $!\n";
		print "[y/N] "; <STDIN>'
	# Where nothing is enforced it is killed by its own key.
	python terminal y "${runc[@]}" exec c1 perl -e "$arm"
	ended 247
	attached a1 c1
	python terminal y "${runc[@]}" exec c1 perl -e "$arm"
	ended 1
	printed 'refused: Operation not permitted'
	bm events --bench a1 --format json
	printed '"hook":"signal"' '"rule":"outside"'
	detached a1 0
}

# Its size would tell the operator's programs, its discipline and its openness are theirs.
case_terminal_kept() {
	local way set
	local ways=('$x = pack(q(S4), 33, 44, 0, 0); ioctl(STDIN, 0x5414, $x)'
		'$x = pack(q(i), 0); ioctl(STDIN, 0x5423, $x)' '$x = 0; ioctl(STDIN, 0x540c, $x)')
	for way in "${ways[@]}"; do
		set="$way"' or die "refused: $!\n"; $| = 1; print "set [y/N] "; <STDIN>'
		python terminal y "${runc[@]}" exec c1 perl -e "$set"
		ended 0
		printed 'set '
		attached a1 c1
		python terminal y "${runc[@]}" exec c1 perl -e "$set"
		ended 1
		printed 'refused: Operation not permitted'
		bm events --bench a1 --format json
		printed '"hook":"signal"' '"rule":"outside"'
		# One of the Bench's own is its own.
		in_container c1 script -qec "perl -e '$way and print q(set)'" /dev/null
		printed set
		detached a1 0
	done
}

case_twice() {
	local child
	attached a1 c1
	bm attach a2 c1
	refused 125 'the container is Bench a1 already (rule: one-bench); detach that first'
	bm attach a1 c1
	refused 125 'there is a Bench a1 already (rule: bench-name); take another name'
	bm attach a2 --cgroup /e2e
	refused 125 'cgroup /e2e lies above or below that of Bench a1 (rule: one-bench)' \
		'attach the container itself'
	mkdir /sys/fs/cgroup/e2e/c1/child
	"${runc[@]}" exec -d --pid-file "$tmp/pid" c1 /busybox sleep infinity
	slurp "$tmp/pid" child
	echo "$child" >/sys/fs/cgroup/e2e/c1/child/cgroup.procs
	bm attach a2 --cgroup /e2e/c1/child
	refused 125 'cgroup /e2e/c1/child lies above or below that of Bench a1 (rule: one-bench)'
	bm attach a2 --pid "$child"
	refused 125 'cgroup /e2e/c1/child lies above or below'
	# A child cgroup belongs to the Bench.
	bm exec a1 -- /busybox sh -c 'kill -9 -1'
	soon gone "$child"
	rmdir /sys/fs/cgroup/e2e/c1/child
	rm "$tmp/pid"
	bm destroy a1
	refused 125 'Bench a1 is a container that benchmon did not make (rule: destroy)' \
		'detach it, and remove it with what made it'
	detached a1 0
	bm detach a1
	did 'a1 was detached at ' 'receipt: '
}

case_cgroup_paths() {
	local path
	for path in / '' .. /e2e/.. /.. /e2e/c1/.. /e2e/../e2e/c1 e2e/c1 /sys/fs/cgroup; do
		bm attach a1 --cgroup "$path"
		refused 125 'is no path of a cgroup below the root (rule: cgroup-v2)' \
			'give it as in /proc/PID/cgroup'
	done
	bm attach a1 --cgroup /e2e/nowhere
	refused 125 'cgroup /e2e/nowhere: No such file or directory'
	mkdir /sys/fs/cgroup/e2e/empty
	bm attach a1 --cgroup /e2e/empty
	refused 125 'cgroup /e2e/empty holds no process (rule: container); start the container first'
	rmdir /sys/fs/cgroup/e2e/empty
}

case_ids() {
	local id
	for id in '' . .. ../c1 a/b /etc .c1 'c 1' $'c1\n' "$(x 300)"; do
		bm attach a1 "$id"
		refused 125 'is no container id (rule: container-id)' \
			'take it from `crun list` or `podman ps`'
	done
	bm attach a1 nobody
	refused 125 'crun knows no container nobody (rule: container-id); see `crun list`'
	bm attach a1
	refused 2 'attach: name the container by one of id, --pid, --cgroup and --hook'
	bm attach a1 c1 --pid 1
	refused 2 'attach: name the container by one of id, --pid, --cgroup and --hook'
	for id in 0 -1 x 1x 99999999999; do
		bm attach a1 --pid "$id"
		refused 2 "--pid: '$id' is not a number from 1 to 4194304"
	done
	bm attach a1 --pid 4194304
	refused 125 'there is no process 4194304'
	bm attach A1 c1
	refused 2 "'A1' cannot name a Bench"
}

case_stopped() {
	bundle first plain . /busybox true
	created first
	started first
	soon gone "$pid"
	bm attach a1 first
	refused 125 'container first is stopped (rule: container-id); create it anew'
	removed first
}

# What is no container, though it may have a cgroup of its own.
case_host() {
	local sleeper
	sleep infinity &
	sleeper=$!
	mkdir /sys/fs/cgroup/e2e/host
	echo "$sleeper" >/sys/fs/cgroup/e2e/host/cgroup.procs
	bm attach a1 --pid "$sleeper"
	refused 125 "process $sleeper runs in the host's mount namespace: it is no container" \
		'(rule: container); give the container'\''s init process'
	bm attach a1 --cgroup /e2e/host
	refused 125 '(rule: container)'
	kill "$sleeper"
	wait "$sleeper" || :
	soon rmdir /sys/fs/cgroup/e2e/host
	daemon_pid
	for sleeper in 1 2 "$$" "$daemon"; do
		bm attach a1 --pid "$sleeper"
		refused 125 "process $sleeper "
		[[ $err == *'(rule: cgroup-v2)'* || $err == *'(rule: container)'* ]] ||
			fail 'not for being no container'
	done
}

case_host_root() {
	bundle first plain 'del(.mounts[] | select(.destination == "/vol"))' /bin/busybox true
	mount --bind / "$tmp/c/first/rootfs"
	created first
	bm attach a1 first
	refused 125 'its root file system is the host'\''s (rule: own-objects)' \
		'give the container a root file system of its own'
	umount "$tmp/c/first/rootfs"
	removed first
}

case_shared_cgroup() {
	local sleeper
	pid=$(crun state c1 | jq .pid)
	mounted_back "$pid"
	sleep infinity &
	sleeper=$!
	echo "$sleeper" >/sys/fs/cgroup/e2e/c1/cgroup.procs
	bm attach a1 c1
	refused 125 "cgroup /e2e/c1 also holds process $sleeper of another mount namespace" \
		'(rule: own-cgroup); give the container a cgroup of its own'
	kill "$sleeper"
	wait "$sleeper" || :
	volume_open c1
	# The same for a thread of a process that itself is where the container is.
	local in ready job
	mkfifo "$tmp/in" "$tmp/ready"
	python3 -B -S -s "$e2e/helpers/stray.py" "$pid" /sys/fs/cgroup/e2e/c1 <"$tmp/in" >"$tmp/ready" &
	job=$!
	exec {in}>"$tmp/in" {ready}<"$tmp/ready"
	line_from "$ready" line
	bm attach a1 c1
	refused 125 'cgroup /e2e/c1 also holds process ' ' of another mount namespace (rule: own-cgroup)'
	exec {in}>&- {ready}<&-
	wait "$job"
	rm "$tmp/in" "$tmp/ready"
	volume_open c1
}

# A hybrid layout: the container's cgroup is one of the v1 hierarchy, in v2 it has none of its own.
case_cgroup_v1() {
	mkdir "$tmp/v1"
	mount -t cgroup -o none,name=e2e e2e "$tmp/v1"
	mkdir "$tmp/v1/first"
	bundle first plain 'del(.linux.cgroupsPath)' /busybox sleep infinity
	created first --cgroup-manager=disabled
	echo "$pid" >"$tmp/v1/first/cgroup.procs"
	bm attach a1 first
	refused 125 "process $pid has no cgroup v2 of its own (rule: cgroup-v2)" \
		'start the container in the v2 hierarchy'
	bm attach a1 --pid "$pid"
	refused 125 "process $pid has no cgroup v2 of its own (rule: cgroup-v2)"
	bm attach a1 --cgroup /first
	refused 125 'cgroup /first: No such file or directory'
	bm attach a1 --cgroup "$tmp/v1/first"
	refused 125 "cgroup $tmp/v1/first: No such file or directory"
	removed first
	soon rmdir "$tmp/v1/first"
	# One that is in both is in v2: that is what counts.
	pid_of c1
	mkdir "$tmp/v1/c1"
	echo "$pid" >"$tmp/v1/c1/cgroup.procs"
	attached a1 c1
	volume_gone c1
	detached a1 0
	echo "$pid" >"$tmp/v1/cgroup.procs"
	rmdir "$tmp/v1/c1"
	umount "$tmp/v1"
	rmdir "$tmp/v1"
}
