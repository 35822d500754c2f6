# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# What a container came with: detached when it is attached, and had again as grants.
: "${e2e:?}" "${tmp:?}" "${disk:?}"

# shellcheck source=tests/e2e/containers.sh
. "$e2e/containers.sh"

setup() {
	mkdir -p /sys/fs/cgroup/e2e
	mkdir -p "$disk"/{vol,two}/{dir,in,tmp} "$disk/nest/in" "$disk/ro"
	echo two >"$disk/two/file"
	echo ro >"$disk/ro/file"
	echo one >"$disk/one"
	cp /bin/busybox "$disk/vol/busybox"
}

teardown() {
	rmdir /sys/fs/cgroup/e2e
	rm -r "$disk"/{vol,two,nest,ro,one}
}

# Every way to ask whether something exists; 2 is ENOENT.
probe='use POSIX (); use Socket;
sub say { printf "%s %d\n", $_[0], $_[1] ? 0 : $! + 0 }
my $file = "/vol/secret", my $none = "\0" x 200, my $fd;
say("access", POSIX::access($file, 0));
say("stat", stat $file);
say("opath", sysopen($fd, $file, 010000000));
say("statfs", syscall(137, $file, $none) == 0);
my $handle = pack("Ii", 128, 0) . "\0" x 128, my $id = "\0" x 4;
say("handle", syscall(303, -100, $file, $handle, $id, 0) == 0);
socket(my $s, PF_UNIX, SOCK_STREAM, 0);
say("connect", connect($s, sockaddr_un("/vol/socket")));
say("chdir", chdir "/vol/dir");'

probed() { # CONTAINER ERRNO
	in_container "$1" /usr/bin/perl -e "$probe"
	did "access $2" "stat $2" "opath $2" "statfs $2" "handle $2" "connect $2" "chdir $2"
}

tmpfs() { # DEST
	printf '.mounts += [{destination: "%s", type: "tmpfs", source: "tmpfs"}] | ' "$1"
}

with() { # KIND JQ...: the container c3 has these too, and is started
	local IFS=
	bundle c3 "$1" "${*:2}." /busybox sleep infinity
	created c3
	started c3
}

let_go() {
	bm detach a1
	did 'a1 detached'
	removed c3
}

case_probed() {
	local server
	rm -f "$disk/vol/socket"
	python3 -B -S -s -c 'import socket, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(9); sys.stdin.read()' \
		"$disk/vol/socket" <"$tmp/requests" &
	server=$!
	soon test -S "$disk/vol/socket"
	with plain ''
	probed c3 0
	bm attach a1 c3
	did "detached: /vol (ext4), on the host $disk/vol"
	probed c3 2
	empty c3 /vol
	bm exec a1 -- /usr/bin/perl -e "$probe"
	printed 'access 2' 'handle 2' 'connect 2' 'chdir 2'
	kill "$server"
	wait "$server" || :
	rm "$disk/vol/socket"
	let_go
}

# On top of each other, in each other, on what is its own, and what is its own on them.
case_nested() {
	with plain "$(bind /vol/in "$disk/two")" "$(tmpfs /vol/tmp)" "$(bind /again "$disk/vol")" \
		"$(bind /stack "$disk/vol")" "$(bind /stack "$disk/two")" "$(tmpfs /own)" \
		"$(bind /own/vol "$disk/two")" "$(bind /one "$disk/one")" "$(bind /hostdev /dev rbind)" \
		"$(bind /etc/hosts "$disk/ro/file")" "$(bind /etc/shadow "$disk/one")"
	in_container c3 /busybox cat /vol/in/file /own/vol/file /stack/file /one /etc/hosts
	did $'two\ntwo\ntwo\none\nro'
	bm attach a1 c3
	did 'detached: /vol/in (ext4)' 'detached: /again (ext4)' 'detached: /own/vol (ext4)' \
		"detached: /one (ext4), on the host $disk/one" 'detached: /hostdev (devtmpfs)' \
		'detached: /etc/shadow (ext4)'
	same 2 "$(grep -c '^detached: /stack (ext4)' <<<"$out")" 'the mounts at /stack'
	empty c3 /vol /again /stack /own/vol /hostdev
	in_container c3 /busybox cat /one
	same '' "$out" 'what is in /one'
	# A runtime's own file is its own, whoever mounted it; its own mounts work as before.
	in_container c3 /busybox sh -c 'cat /etc/hosts; echo x >/own/x; cat /own/x; echo y >/dev/null'
	did $'ro\nx'
	same '' "$(grep -e " $disk" -e ' /hostdev' "/proc/$pid/mountinfo")" 'what is still mounted'
	bm ls
	did a1
	bm show a1 --format json
	printed '"detached":[{"what":"ext4","path":"' "\"source\":\"$disk/two\",\"rights\":\"rw\""
	# A restarted daemon knows it from the ledger.
	stop_daemon
	bm show a1
	did "detached   /vol (ext4), on the host $disk/vol" "on the host $disk/one"
	let_go
}

# Who renames what a mount lies in makes its path longer than any system call takes.
case_deep() {
	local deep='my $d = "x" x 200; chdir "/"; for (1 .. 25) { mkdir $d; chdir $d or die }'
	with plain "$(bind /d/vol "$disk/vol")"
	in_container c3 /usr/bin/perl -e "$deep"' rename "/d", "d" or die; print -e "d/vol/secret"'
	did 1
	bm attach a1 c3
	did xxx
	in_container c3 /usr/bin/perl -e "$deep"' print -d "d/vol", -e "d/vol/secret" ? "there" : "gone"'
	did 1gone
	# The same for what is granted.
	bm grant a1 file "$disk/two:/e/two" --yes
	in_container c3 /usr/bin/perl -e "$deep"' rename "/e", "e" or die'
	did
	bm revoke a1 --all
	did revoked
	in_container c3 /usr/bin/perl -e "$deep"' print -d "e/two", -e "e/two/file" ? "there" : "gone"'
	did 1gone
	let_go
}

# What is unmounted there stays mounted here; what is mounted here no longer shows there.
case_shared() {
	mkdir -p "$tmp/mnt/share"
	mount -t tmpfs share "$tmp/mnt/share"
	mkdir "$tmp/mnt/share/sub" "$tmp/mnt/share/later"
	mount -t tmpfs sub "$tmp/mnt/share/sub"
	echo sub >"$tmp/mnt/share/sub/file"
	with plain "$(bind /share "$tmp/mnt/share" rbind rshared)" \
		'.linux.rootfsPropagation = "shared" | '
	in_container c3 /busybox cat /share/sub/file
	did sub
	bm attach a1 c3
	did 'detached: /share (tmpfs)' 'detached: /share/sub (tmpfs)'
	empty c3 /share
	same sub "$(<"$tmp/mnt/share/sub/file")" 'what the host has'
	mount -t tmpfs later "$tmp/mnt/share/later"
	same '' "$(grep later "/proc/$pid/mountinfo")" 'what was mounted later'
	let_go
	umount "$tmp/mnt/share/later" "$tmp/mnt/share/sub" "$tmp/mnt/share"
	rmdir "$tmp/mnt/share" "$tmp/mnt"
}

# A container without a runtime: in a user namespace, with all that the host has below /sys bound in
# at once. The kernel holds in place what comes from a more privileged mount namespace.
locked_container() {
	local dir=$tmp/c/c3 job
	bundle c3 plain . /busybox true
	mkdir -p "$dir/rootfs"/{old,sys2}
	mkfifo "$dir/ready"
	mkdir /sys/fs/cgroup/e2e/c3
	bash -c 'echo $$ >/sys/fs/cgroup/e2e/c3/cgroup.procs
		exec unshare -U -r -m -p -f -n --propagation private bash -euc "$0" inner "$@"' '
		mount --bind "$1" "$1"
		mount -t proc proc "$1/proc"
		mount --rbind /sys "$1/sys2"
		exec 3>"$2"
		cd "$1"
		pivot_root . old
		umount -l /old
		echo ready >&3
		exec 3>&- /usr/bin/setpriv --bounding-set=-all /busybox sleep infinity' \
		"$dir/rootfs" "$dir/ready" </dev/null >"$dir/said" 2>&1 &
	job=$!
	read -rt 60 _ <"$dir/ready" || fail "no container: $(<"$dir/said")"
	read -r pid <"/proc/$job/task/$job/children"
	soon grep -q '^CapBnd:.*0000000000000000' "/proc/$pid/status"
	# What made it is a program of the host's, and would keep it from being attached.
	kill -9 "$job"
	wait "$job" || :
}

case_locked() {
	locked_container
	bm attach a1 --pid "$pid"
	did 'detached: /sys2/fs/bpf (bpf)'
	capture nsenter -t "$pid" -m /busybox ls -A /sys2/fs/bpf
	did ''
	same '' "$out" 'what is in /sys2/fs/bpf'
	capture nsenter -t "$pid" -m /busybox touch /sys2/fs/bpf/x
	[[ $err == *'Read-only file system'* ]] || fail 'what covers it can be written to'
	bm show a1 --format json
	printed '"path":"/sys2/fs/bpf"' '"covered":true'
	bm detach a1
	did 'a1 detached'
	kill -9 "$pid"
	soon gone "$pid"
	soon rmdir /sys/fs/cgroup/e2e/c3
	umount "$tmp/c/c3/rootfs"
	rm -r "$tmp/c"
}

mount_of() { # DEST: its options in the container
	options=$(awk -v dest="$1" '$5 == dest { print $6 }' "/proc/$pid/mountinfo")
}

adoptable() { # KIND
	with "$1" "$(bind /ro "$disk/ro" ro)" "$(bind /one "$disk/one")" "$(bind /no "$disk/two")" \
		"$(bind /nest "$disk/nest" private)" "$(bind /nest/in "$disk/ro")" "$(bind /null /dev/null)" \
		"$(bind /hostproc /proc)"
}

adopted() {
	in_container c3 /busybox sh -c 'cat /vol/secret /ro/file /one && echo new >/vol/new'
	did $'secret\nro\none'
	same new "$(<"$disk/vol/new")" 'what it wrote'
	rm "$disk/vol/new"
	in_container c3 /busybox touch /ro/new
	[[ $err == *'Read-only file system'* ]] || fail 'written to what is ro'
	in_container c3 /vol/busybox true
	[[ $code -ne 0 && $err == *[Pp]'ermission denied'* ]] || fail 'executed from a volume'
	mount_of /vol
	same rw,nosuid,nodev,noexec "${options%,relatime}" 'how /vol is mounted'
	mount_of /ro
	same ro,nosuid,nodev,noexec "${options%,relatime}" 'how /ro is mounted'
}

case_adopt_asked() {
	adoptable plain
	# /vol, /ro, /one, /no
	py terminal y,y,y,n benchmon attach a1 c3 --adopt
	printed 'a1 attached (ready): nothing is granted' "path      $disk/vol" 'appears   /vol' \
		'ext4' 'rights    rw' "a1/1 granted: $disk/vol as /vol, rw" \
		"a1/2 granted: $disk/ro as /ro, ro" "a1/3 granted: $disk/one as /one, rw" \
		'owners    as the container had them' 'not adopted: /no: not granted' \
		'/nest/in was mounted below it; what that covered would show (rule: no-submounts)' \
		'not adopted: /hostproc: '
	adopted
	empty c3 /no /nest /hostproc
	bm show a1 --format json
	printed '"how":"tty"' '"adopted":true'
	bm revoke a1/1
	did 'a1/1 revoked'
	empty c3 /vol
	# Also by a daemon that knows it from the ledger alone.
	stop_daemon
	bm revoke a1 --all
	did revoked
	empty c3 /ro
	in_container c3 /busybox cat /one
	same '' "$out" 'what is in /one'
	# What has been a mount point may be one again, for another.
	bm grant a1 file "$disk/vol:/in/vol" --yes
	did 'a1/4 granted'
	let_go
}

case_adopt_yes() {
	adoptable userns
	bm attach a1 c3 --adopt --yes --format json
	did '"volumes":[{"volume":0,"path":"/vol","grant":{"id":"a1/1"' '"how":"yes"' \
		'{"volume":4,"path":"/nest","refused":{"errno":16'
	cp "$tmp/out" "$tmp/json"
	py jsonlines "$tmp/json"
	rm "$tmp/json"
	in_container c3 /busybox cat /vol/secret /ro/file /one /no/file
	did $'secret\nro\none\ntwo'
	empty c3 /nest /hostproc
	bm revoke a1 --all
	did a1/4
	empty c3 /vol /ro /no
	let_go
}

# The same directory twice is one object: one grant.
case_adopt_twice() {
	with plain "$(bind /again "$disk/vol")" "$(tmpfs /own)" "$(bind /own/vol "$disk/two")"
	bm attach a1 c3 --adopt --yes
	did "a1/1 granted: $disk/vol as /vol, rw" \
		'not adopted: /again: a1/1 grants this object already (rule: one-grant)' \
		"a1/2 granted: $disk/two as /own/vol, rw"
	empty c3 /again
	in_container c3 /busybox cat /own/vol/file
	did two
	bm grant a1 file "$disk/ro:/own/ro" --yes
	did "$disk/ro as /own/ro, ro"
	let_go
}

# Between the question and the answer the mount point goes, or becomes something else.
case_adopt_raced() {
	with plain "$(bind /dir/vol "$disk/two")" "$(bind /dir/one "$disk/one")"
	echo "crun exec c3 /busybox sh -c '[ -e /old ] || { mv /dir /old && ln -s /old /dir; }'" >"$tmp/swap"
	py terminal "$tmp/swap:y,y,y" benchmon attach a1 c3 --adopt
	printed 'a1/1 granted' 'not adopted: /dir/vol: ' 'not adopted: /dir/one: ' '(rule: destination)'
	rm "$tmp/swap"
	empty c3 /old/vol
	let_go
}

# Created and not started: the same.
case_adopt_created() {
	bundle c3 plain . /busybox cat /vol/secret
	created c3
	bm attach a1 c3 --adopt --yes
	did 'a1/1 granted'
	started c3
	it_said c3
	same secret "$out" 'what it says'
	let_go
}

case_adopt_misused() {
	with plain "$(bind /two "$disk/two")"
	py adopt a1 c3
	empty c3 /vol /two
	removed c3
}

case_adopt_usage() {
	bm attach a1 c3 --yes
	refused 2 'attach: --yes confirms what --adopt and --learn ask'
}
