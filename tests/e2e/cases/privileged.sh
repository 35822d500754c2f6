# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# The container that was given everything: all capabilities, no user namespace, the host's pid, ipc
# and network namespaces, no seccomp, all devices, and the host's root at /host.
: "${e2e:?}" "${tmp:?}" "${disk:?}"

# shellcheck source=tests/e2e/containers.sh
. "$e2e/containers.sh"

setup() {
	local port
	mkdir -p /sys/fs/cgroup/e2e "$disk/src"
	echo hello >"$disk/src/file"
	filter_of >"$tmp/filter"
	# What only the host itself is meant to reach.
	exec {ready}< <(exec python3 -B -S -s "$e2e/helpers/serve.py" 127.0.0.1 8090)
	echo $! >"$tmp/local"
	read -rt 60 -u "$ready" _
}

teardown() {
	kill "$(<"$tmp/local")"
	rm "$tmp/local" "$tmp/filter"
	rm -r "$disk/src" "$disk/vol"
	rmdir /sys/fs/cgroup/e2e
}

devices() { # of the host, as a runtime makes them anew in a container that is to have all
	local list
	# Of those that crun makes by itself it would make none twice.
	list=$(find /dev -maxdepth 1 \( -type b -o -type c \) -regextype posix-extended \
		! -regex '/dev/(null|zero|full|random|urandom|tty|console|ptmx)' \
		-exec stat -c '%n %A %t %T' {} + |
		sed 's|^\(.*\) \(.\)[^ ]* \(.*\) \(.*\)$|"\1" "\2" 0x\3 0x\4|')
	while read -r name kind major minor; do
		printf '{path: %s, type: %s, major: %d, minor: %d, fileMode: 438, uid: 0, gid: 0},' \
			"$name" "$kind" "$major" "$minor"
	done <<<"$list"
}

capabilities() { # all that Linux has
	setpriv --list-caps | sed 's/.*/"CAP_\U&"/' | paste -sd ,
}

filter_of() { # such a configuration
	printf '%s' "[$(capabilities)] as \$all | .process.capabilities =
		{bounding: \$all, effective: \$all, permitted: \$all, inheritable: \$all} |
		.process.noNewPrivileges = false |
		del(.linux.namespaces[] | select(.type | IN(\"pid\", \"ipc\", \"network\", \"cgroup\"))) |
		del(.linux.seccomp, .linux.maskedPaths, .linux.readonlyPaths) |
		.linux.resources.devices = [{allow: true, access: \"rwm\"}] |
		.linux.devices = [$(devices) empty] |
		(.mounts[] | select(.destination == \"/sys\") | .options) -= [\"ro\"] |
		.mounts += [{destination: \"/work\", type: \"tmpfs\", source: \"tmpfs\"},
			{destination: \"/host\", type: \"bind\", source: \"/\", options: [\"rbind\", \"rw\"]}]"
}

made() { # COMMAND...: the container p1, created
	bundle p1 plain "$(<"$tmp/filter")" "$@"
	created p1
}

in_bench() { # SCRIPT
	bm exec a1 -T -- /bin/bash -c "$1"
}

# It has what the issue says, or nothing below proves anything.
has_everything() { # PID
	local ns
	for ns in pid ipc net user; do
		same "$(readlink /proc/1/ns/$ns)" "$(readlink "/proc/$1/ns/$ns")" "its $ns namespace"
	done
	[[ $(sed -n 's/^CapBnd:\t//p' "/proc/$1/status") == "$(sed -n 's/^CapBnd:\t//p' /proc/1/status)" ]] ||
		fail 'it has not all capabilities'
	[[ -e /proc/$1/root/host/etc/shadow && -e /proc/$1/root/host/proc/1 ]] || fail 'no host in it'
	[[ -e /proc/$1/root/dev/mem ]] || fail 'no devices in it'
}

attached() {
	bm attach a1 p1
	did 'a1 attached (ready): nothing is granted' 'detached: /host (' 'detached: /dev/mqueue (mqueue)' \
		'detached: /sys/fs/cgroup (cgroup2)'
}

# Of the host nothing is there, not by a name.
walled() { # PID
	local name
	[[ -e /proc/$1 ]] || fail "it has ended: $(<"$tmp/c/p1/said")"
	in_bench 'ls -A /host; ls -A /sys/fs/cgroup'
	did ''
	same '' "$out" 'what it sees of the host'
	for name in etc/shadow proc/1 dev/null "$disk/src/file"; do
		in_bench "ls -d /host/$name"
		[[ $code -ne 0 && $err == *'No such file or directory'* ]] ||
			fail "/host/$name is there; $(<"$tmp/c/p1/said")"
	done
	same '' "$(grep -e ' /host' -e "$disk" "/proc/$1/mountinfo")" 'what is still mounted'
}

works() {
	local dir
	for dir in / /work /tmp /dev/shm; do
		in_bench "echo works >$dir/file && cat $dir/file && rm $dir/file"
		did works
	done
	in_bench 'for to in /work /tmp; do cp /busybox $to && $to/busybox echo executed; done'
	did $'executed\nexecuted'
	in_bench 'echo x >/dev/null && head -c 4 /dev/zero | wc -c && ls /proc/self/fd | wc -l'
	did 4
}

shown() {
	bm show a1
	did 'caps       CHOWN DAC_OVERRIDE FOWNER FSETID KILL' 'shared     pid net ipc' \
		'userns     refused'
	[[ $out != *SYS_ADMIN* && $out != *NET_ADMIN* ]] || fail 'the mask is none'
	# Names of the host's are as long as they are.
	out=${out%%detached*}
	narrow
	bm show a1 --format json
	printed '"capabilities":["CAP_CHOWN","CAP_DAC_OVERRIDE"' '"shared":["pid","net","ipc"]' \
		'"userns":false'
	bm ls --format json
	printed '"shared":["pid","net","ipc"]'
}

answered() { # ADDRESS PORT: by the host's own stack, from no Bench
	capture bash -c "cat </dev/tcp/$1/$2"
	did "hello from $2"
}

bystander() {
	answered "$server" 8080
	answered 127.0.0.1 8090
}

unanswered() { # ADDRESS PORT: from the Bench, by whatever layer there is
	in_bench "timeout 3 bash -c 'cat </dev/tcp/$1/$2' 2>/dev/null"
	[[ $code -ne 0 && -z $out ]] || fail "$1:$2 answers"
}

no_network() { # all at once: what nft drops is waited for
	in_bench "for at in $server/8080 127.0.0.1/8090 10.99.0.1/8090; do
			timeout 3 bash -c \"cat </dev/tcp/\$at && echo \$at answers\" 2>/dev/null &
		done; wait; echo asked"
	did asked
	same asked "$out" 'what answers'
}

detached() { # COUNT
	bm detach a1
	did "a1 detached, grants revoked: $1; nothing is enforced on it any more"
	same '' "$(nft list tables | grep benchmon-)" 'the table that is left'
}

case_created() {
	made /busybox sh -c 'cat /host/etc/shadow; echo x >/host/tmp/e2e-wrote; exec /busybox sleep infinity'
	has_everything "$pid"
	attached
	shown
	started p1
	walled "$pid"
	works
	slurp "$tmp/c/p1/said" out
	[[ $out == *"can't open '/host/etc/shadow': No such file or directory"* ]] ||
		fail "its first act: $out"
	[[ ! -e /tmp/e2e-wrote ]] || fail 'it wrote to the host'
	bystander
	no_network
	bm events --bench a1 --format json
	printed '"hook":"connect4"' '"destination":"127.0.0.1:8090/tcp"' "\"destination\":\"$server:8080/tcp\""
	detached 0
	removed p1
}

case_running() {
	made /busybox sleep infinity
	started p1
	has_everything "$pid"
	in_container p1 /busybox cat "/host$disk/src/file"
	did hello
	attached
	walled "$pid"
	works
	shown
	bm grant a1 file "$disk/src:/in/src" --yes
	did 'a1/1 granted'
	in_bench 'cat /in/src/file'
	did hello
	in_container p1 /busybox echo 'its operator still executes in it'
	did 'its operator still'
	bystander
	no_network
	detached 1
	removed p1
}

# By its pid or cgroup nobody says what its root was.
case_by_pid() {
	made /busybox sleep infinity
	started p1
	bm attach a1 --pid "$pid"
	refused 125 'the container may mount (CAP_SYS_ADMIN), so only its runtime can say what its root is' \
		'(rule: own-root); attach it by its id, as crun has it'
	bm attach a1 --cgroup /e2e/p1
	refused 125 '(rule: own-root)'
	[[ -e /proc/$pid/root/host/etc/shadow ]] || fail 'refused, and yet detached'
	same '' "$(nft list tables | grep benchmon)" 'the table that is left'
	removed p1
}

programs_gone() { # BENCH: as by root's own hand
	bm show "$1" --format json
	key id
	rm /sys/fs/bpf/benchmon/benches/"$value"/*
}

# What it has taken hold of before, and no wall would meet again: it is not attached while it has.
holding() { # PERL WORDS...; with what is in $given as its stdin
	local holder=
	"${runc[@]}" exec p1 /usr/bin/perl -e "$1"'; open(my $f, ">", "/work/at"); print $f $$; close $f; rename "/work/at", "/work/ready"; sleep' \
		<&"${given:-$nothing}" >/dev/null 2>&1 &
	holder=$!
	soon test -e "/proc/$pid/root/work/ready"
	bm attach a1 p1
	refused 125 "${@:2}" '(rule: held)' 'end that process, or attach between create and start'
	kill -9 "$(<"/proc/$pid/root/work/ready")"
	wait "$holder" || :
	rm "/proc/$pid/root/work/ready"
}

case_holds() {
	local sleeper nothing given=
	exec {nothing}</dev/null
	made /busybox sleep infinity
	started p1
	sleep infinity &
	sleeper=$!
	holding "syscall(101, 16, $sleeper, 0, 0) == 0 or die" " of the container traces $sleeper outside of it"
	kill -9 "$sleeper"
	wait "$sleeper" || :
	holding 'open(F, "<", "/dev/mem") or die' ' of the container has a device open, 1:1'
	holding 'socket(S, 17, 3, 0) or die' ' of the container has a packet socket'
	# Also where it can't be listed any more: the process has gone to another network.
	holding 'socket(S, 17, 3, 0) or die; syscall(272, 0x40000000) == 0 or die' ' of the container has a socket of family 17'
	holding 'socket(S, 38, 5, 0) or die' ' of the container has a socket of family 38'
	exec {given}<>/dev/udp/127.0.0.1/9
	holding '1' ' of the container has a network socket that was made outside of it'
	exec {given}>&- {nothing}<&-
	same '' "$(nft list tables | grep benchmon)" 'the table that is left'
	attached
	detached 0
	removed p1
}

# Either layer alone.
case_layers() {
	made /busybox sleep infinity
	started p1
	attached
	nft list table inet benchmon-a1 >"$tmp/table"
	nft delete table inet benchmon-a1
	no_network
	nft -f "$tmp/table"
	rm "$tmp/table"
	programs_gone a1
	no_network
	bystander
	# It takes no port of the host's; the one that it is given to listen at is not reached.
	local port
	capture "${runc[@]}" exec p1 /usr/bin/perl -e 'use Socket; socket(S, PF_INET, SOCK_STREAM, 0);
		bind(S, sockaddr_in(8091, INADDR_ANY)) or die "$!\n"' </dev/null
	[[ $code -ne 0 && $err == *'Operation not permitted'* ]] || fail 'it takes a port'
	bm events --bench a1 --format json
	did '"hook":"bind","rule":"shared-namespace"'
	"${runc[@]}" exec -d p1 /usr/bin/perl -e 'use Socket; $| = 1; socket(S, PF_INET, SOCK_STREAM, 0);
		listen(S, 9); print((sockaddr_in(getsockname(S)))[0], "\n");
		while (accept(C, S)) { syswrite(C, "inside\n"); close(C) }' </dev/null >"$tmp/port" 2>&1
	soon test -s "$tmp/port"
	port=$(<"$tmp/port")
	rm "$tmp/port"
	capture timeout 3 bash -c "cat </dev/tcp/127.0.0.1/$port"
	[[ $code -ne 0 && $out != *inside* ]] || fail 'its listener is reached'
	nft delete table inet benchmon-a1
	capture bash -c "cat </dev/tcp/127.0.0.1/$port"
	did inside
	in_bench "cat </dev/tcp/$server/8080"
	did 'hello from 8080'
	detached 0
	removed p1
}

# A destination is opened in both layers, through the host's own stack.
case_granted() {
	made /busybox sleep infinity
	started p1
	attached
	bm grant a1 net "$server:8080" --yes
	did "granted: $server:8080/tcp"
	in_bench "cat </dev/tcp/$server/8080"
	did 'hello from 8080'
	unanswered "$server" 8081
	unanswered 127.0.0.1 8090
	bm grant a1 net 127.0.0.1:8090 --yes
	refused 125 'is a loopback address'
	[[ ! -e /sys/class/net/bm1 ]] || fail 'it has a link'
	bm revoke a1/1
	did 'a1/1 revoked'
	no_network
	bystander
	detached 0
	removed p1
}

# Its connections end, and nobody else's to the same place.
case_ended() {
	local own
	made /busybox sleep infinity
	started p1
	attached
	bm grant a1 net "$server:8080" --yes
	did granted
	"${runc[@]}" exec -d p1 /bin/bash -c "exec 5<>/dev/tcp/$server/8080 && echo open &&
		exec sleep infinity" </dev/null >"$tmp/opened" 2>&1
	soon grep -q open "$tmp/opened"
	exec {own}<>"/dev/tcp/$server/8080"
	bm revoke a1/1
	did 'a1/1 revoked' '  connections ended: 1'
	line_from "$own" out
	same 'hello from 8080' "$out"
	exec {own}>&-
	rm "$tmp/opened"
	detached 0
	removed p1
}

# So do those of a cgroup below its own that is not there any more. And once its own is not, still
# nobody else's.
case_ended_removed() {
	local own child other
	made /busybox sleep infinity
	started p1
	attached
	child=/sys/fs/cgroup/e2e/p1/child
	bm grant a1 net "$server:8080" --yes
	did granted
	mkfifo "/proc/$pid/root/work/go"
	"${runc[@]}" exec -d --pid-file "$tmp/pid" p1 /bin/bash -c "read -r _ </work/go
		exec 5<>/dev/tcp/$server/8080 && echo open && exec sleep infinity" </dev/null >"$tmp/opened" 2>&1
	slurp "$tmp/pid" other
	mkdir "$child"
	echo "$other" >"$child/cgroup.procs"
	echo >"/proc/$pid/root/work/go"
	soon grep -q open "$tmp/opened"
	echo "$other" >"${child%/child}/cgroup.procs"
	rmdir "$child"
	exec {own}<>"/dev/tcp/$server/8080"
	bm revoke a1/1
	did 'a1/1 revoked' '  connections ended: 1'
	bm grant a1 net "$server:8080" --yes
	did granted
	kill -9 "$other" "$pid"
	soon gone "$pid"
	soon gone "$other"
	removed p1
	bm revoke a1 --all
	did 'revoked'
	line_from "$own" out
	same 'hello from 8080' "$out"
	exec {own}>&-
	rm "$tmp/opened" "$tmp/pid"
	detached 0
}

# A restarted daemon finds the same flags, and its table, also where that was taken away.
case_restart() {
	local before
	made /busybox sleep infinity
	started p1
	attached
	bm grant a1 net "$server:8080" --yes
	did granted
	before=$(nft -s list table inet benchmon-a1)
	bm show a1
	cp "$tmp/out" "$tmp/shown"
	stop_daemon KILL
	no_network_but_granted
	bm show a1
	diff <(grep -v -e ^created -e ^denied -e ^egress -e ^packets "$tmp/shown") \
		<(grep -v -e ^created -e ^denied -e ^egress -e ^packets "$tmp/out") ||
		fail 'it shows otherwise'
	rm "$tmp/shown"
	same "$before" "$(nft -s list table inet benchmon-a1)" 'its table'
	stop_daemon
	nft delete table inet benchmon-a1
	bm show a1
	did 'state      ready'
	same "$before" "$(nft -s list table inet benchmon-a1)" 'its table, made anew'
	detached 1
	removed p1
}

no_network_but_granted() {
	capture "${runc[@]}" exec p1 /bin/bash -c "cat </dev/tcp/$server/8080" </dev/null
	did 'hello from 8080'
	capture "${runc[@]}" exec p1 /bin/bash -c "cat </dev/tcp/127.0.0.1/8090" </dev/null
	[[ $code -ne 0 && -z $out ]] || fail 'loopback answers'
}

# Its init ends, which in the host's pid namespace ends nothing else.
case_init_ends() {
	local other
	made /busybox sleep infinity
	started p1
	attached
	"${runc[@]}" exec -d --pid-file "$tmp/pid" p1 /busybox sleep infinity
	slurp "$tmp/pid" other
	rm "$tmp/pid"
	kill -9 "$pid"
	soon gone "$pid"
	bm ls
	did 'a1    ended  attached'
	[[ -e /proc/$other ]] || fail 'the rest ended with it'
	same 1 "$(nft list tables | grep -c benchmon-a1)" 'its tables'
	# Nor does a restarted daemon let it go.
	stop_daemon
	bm ls
	did a1
	same 1 "$(nft list tables | grep -c benchmon-a1)" 'its tables'
	grep -q '^frozen 1' /sys/fs/cgroup/e2e/p1/cgroup.events || fail 'it runs on'
	detached 0
	kill -9 "$other"
	soon gone "$other"
	removed p1
}

# Everything is taken away by force: also what lies in the host's network.
full_case_unload() {
	made /busybox sleep infinity
	started p1
	attached
	same 1 "$(nft list tables | grep -c benchmon-a1)" 'its tables'
	stop_daemon
	capture gatekeeperd --unload --force
	did
	soon gone "$pid"
	same '' "$(nft list tables | grep benchmon)" 'the table that is left'
	bm ls
	did
	removed p1
}

# Two in the same network: each has its table, and its own grants.
case_two() {
	made /busybox sleep infinity
	started p1
	attached
	bundle p2 plain "$(<"$tmp/filter")" /busybox sleep infinity
	created p2
	bm attach a2 p2
	did 'a2 attached (ready)'
	started p2
	bm grant a2 net "$server:8080" --yes
	did granted
	unanswered "$server" 8080
	bm exec a2 -T -- /bin/bash -c "cat </dev/tcp/$server/8080"
	did 'hello from 8080'
	bm detach a2
	did 'a2 detached'
	same 1 "$(nft list tables | grep -c benchmon-)" 'the tables'
	unanswered "$server" 8080
	detached 0
	removed p2 p1
}

# What runs in it may make user namespaces only where that was said, whoever made it.
case_allow_userns() {
	bm create b1
	did b1
	bm exec b1 -T -- unshare -U true
	[[ $code -ne 0 ]] || fail 'a user namespace was made'
	bm create b2 --allow-userns
	did b2
	bm exec b2 -T -- unshare -U true
	did
	bm show b2
	did 'userns     allowed' 'shared     none'
	bm show b2 --format json
	printed '"userns":true' '"shared":[]'
	stop_daemon
	bm show b2
	did 'state      ready' 'userns     allowed'
	bm exec b2 -T -- unshare -U true
	did
	bm destroy b1
	did b1
	bm destroy b2
	did b2
	bm run --allow-userns -- unshare -U echo made
	[[ $code -eq 0 && $out == made ]] || fail 'run does not allow it'
	made /busybox sleep infinity
	bm attach a1 p1 --allow-userns
	did 'a1 attached'
	bm show a1
	did 'userns     allowed'
	detached 0
	removed p1
}
