# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# Two operators who are not root: each has a Bench, and nothing of the other's. 1501 and 1502.
: "${e2e:?}" "${tmp:?}" "${disk:?}" "${server:?}"

as() { # UID ARGUMENT...: benchmon, as an operator
	capture setpriv --reuid "$1" --regid "$1" --groups 65534 benchmon "${@:2}" </dev/null
}

setup() {
	local uid
	echo '{"operators":"nogroup","max_benches_per_user":2,"max_grants_per_user":3}' >"$tmp/settings"
	stop_daemon
	py service up --config "$tmp/settings"
	for uid in 1501 1502; do
		mkdir "$disk/$uid"
		echo "of $uid" >"$disk/$uid/file"
		echo first >"$disk/$uid/first"
		chown -R "$uid:$uid" "$disk/$uid"
	done
	as 1501 create mine-was --rootfs "$BENCHMON_ROOTFS"
	did mine-was
	as 1501 destroy mine-was
	did
	as 1501 create mine --rootfs "$BENCHMON_ROOTFS"
	did mine
	as 1502 create other --rootfs "$BENCHMON_ROOTFS"
	did other
	as 1501 grant mine file "$disk/1501/file:/in/file" --yes
	did 'mine/1 granted'
	# Their mounts are those of the daemon that has made them; the cases come with others.
	bm ledger rotate
	did
	stop_daemon
	py service up --config "$tmp/settings"
	first_grant
}

# What a daemon learns of a Bench's ids with its first grant, it keeps.
first_grant() {
	as 1501 grant mine file "$disk/1501/first:/in/first" --yes
	[[ $out =~ mine/[0-9]+ ]] || fail 'it is not granted'
	as 1501 revoke "${BASH_REMATCH[0]}"
	did
}

teardown() {
	as 1501 destroy mine
	did
	as 1502 destroy other
	did
	stop_daemon
	bm ls
	did
	rm -r "$disk"/150[12] "$tmp"/{service.log,notify,settings} /var/lib/benchmon/ledger-[0-9]*.jsonl
}

case_each_request() {
	py users others 1502 "$disk/1502/file" "$disk/1501/file"
}

case_events() {
	py users stream 1502 1501 other
}

# By the commands, in the words that are said of what is not there.
case_commands() {
	as 1502 ls
	did other
	[[ $out != *mine* && $out != *OWNER* ]] || fail 'it lists what is not theirs'
	as 1502 show mine
	refused 125 'there is no Bench "mine"; see `benchmon ls`'
	as 1502 ledger show --format json
	did '"bench":"other"' '"owner":1502'
	[[ $out != *mine* && $out != *'"owner":1501'* && $out != */1501* ]] || fail 'it tells of what is not theirs'
	as 1501 receipt
	did mine-was
	as 1502 receipt
	did
	[[ $out != *mine* ]] || fail 'it lists what is not theirs'
	as 1501 receipt mine-was
	did mine-was 'owner'
	as 1502 receipt mine-was
	refused 125 'there is no receipt of a Bench "mine-was"'
	as 1501 show mine
	did 'owner      1501' 'mine/1'
	# Root has all of them.
	bm ls
	did OWNER 'mine   ready' '1501' 'other  ready' '1502'
	bm show mine --format json
	did '"owner":1501'
	bm create roots
	did
	as 1501 show roots
	refused 125 'there is no Bench "roots"'
	bm destroy roots
	did
}

# By another daemon than the one that made them, and in a new file of the ledger.
case_kept() {
	as 1502 show mine
	refused 125 'there is no Bench "mine"'
	as 1501 exec mine -- cat /in/file
	did 'of 1501'
	as 1502 ls
	did other
	[[ $out != *mine* ]] || fail 'it lists what is not theirs'
}

case_handed_on() {
	py users handed_on 1502
}

case_ended() {
	py users ended 1502
}

case_moved() {
	bm create roots
	did
	py users moved roots
	bm destroy roots
	did
}

# Made set-user-ID by whoever did not think: it connects as root and was started by somebody else.
case_setuid() {
	cp "$(command -v benchmon)" "$tmp/setuid"
	chmod 4755 "$tmp/setuid"
	capture setpriv --reuid 1509 --regid 1509 --clear-groups "$tmp/setuid" ls </dev/null
	refused 125 'has connected, and process' 'of uid 1509 asks (rule: own-connection)'
	rm "$tmp/setuid"
}

case_access() {
	mkdir "$disk/secret"
	echo secret | tee "$disk/secret/file" >"$disk/shown"
	chmod -R go= "$disk/secret"
	install -o 1501 -g 1501 "$disk/shown" "$disk/1501/again"
	py users access 1501 mine "$disk/secret/file" "$disk/1501/again" "$disk/shown"
	rm -r "$disk/secret" "$disk/shown" "$disk/1501/again"
}

# A directory that all may open, and in it what they may not: the Bench may no more than its user.
case_reach() {
	local how id
	mkdir "$disk/open"
	for how in root group own all; do
		echo "$how" >"$disk/open/$how"
	done
	chmod 600 "$disk"/open/*
	chmod 644 "$disk/open/all"
	chgrp 42 "$disk/open" "$disk/open/group"
	chmod 640 "$disk/open/group"
	chown 1501 "$disk/open/own"
	for how in '' --no-idmap; do
		# shellcheck disable=SC2086
		as 1501 grant mine file "$disk/open:/in/open" $how --yes
		did granted
		[[ $out =~ mine/[0-9]+ ]]
		id=${BASH_REMATCH[0]}
		as 1501 exec mine -- cat /in/open/all
		did all
		as 1501 exec mine -- cat /in/open/root
		ended 1
		as 1501 exec mine -- cat /in/open/group
		ended 1
		as 1501 exec mine -- cat /in/open/own
		[[ -n $how ]] || did own
		[[ -z $how ]] || ended 1
		as 1502 revoke "$id"
		refused 125 'there is no Bench mine'
		as 1501 revoke "$id"
		did
	done
	# Nor of the root file system that it was made of.
	as 1501 exec mine -- cat /etc/passwd
	did root:
	as 1501 exec mine -- cat /etc/shadow
	ended 1
	[[ $err == *'Permission denied'* ]] || fail 'it reads what its user may not'
	rm -r "$disk/open"
}

# A root file system of their own.
case_rootfs() {
	mkdir -p "$disk/1501/root"/{bin,proc,sys,dev,etc}
	cp /bin/busybox "$disk/1501/root/bin"
	echo own >"$disk/1501/root/etc/own"
	echo roots >"$disk/1501/root/etc/roots"
	chown -R 1501:1501 "$disk/1501/root"
	chmod 600 "$disk/1501/root/etc"/*
	chown 0:0 "$disk/1501/root/etc/roots"
	as 1501 create made --rootfs "$disk/1501/root"
	did made
	as 1501 exec made -- /bin/busybox sh -c 'b=/bin/busybox; $b cat /etc/own; $b touch /etc/new &&
		$b stat -c %u:%g /etc/own'
	did own 0:0
	as 1501 exec made -- /bin/busybox cat /etc/roots
	ended 1
	[[ ! -e $disk/1501/root/etc/new ]] || fail 'it was written to'
	as 1501 destroy made
	did
	chmod 700 "$disk/1501/root"
	chown 0 "$disk/1501/root"
	as 1501 create made --rootfs "$disk/1501/root"
	refused 125 'Permission denied'
	rm -r "$disk/1501/root"
}

# What is another's in it they cannot write, and yet there is a place for the socket to ask by.
case_door() {
	local mode id
	rm -f "$tmp/image.before" "$tmp/image.after"
	ls -lAR --time-style=full-iso "$BENCHMON_ROOTFS/run" >"$tmp/image.before"
	for mode in own image; do
		as 1501 create doored --rootfs "$BENCHMON_ROOTFS" --exec "$mode"
		did doored
		as 1501 show doored --format json
		did '"door":{"refused":0}'
		as 1501 exec doored -- /run/benchmon/benchmon request net 198.51.100.10:8080 --why x
		did 'awaits an operator'
		[[ $out =~ ^(doored/[a-z0-9]+)\ awaits ]] || fail 'it asks for another'
		id=${BASH_REMATCH[1]}
		as 1502 pending
		did
		[[ $out != *doored* ]] || fail 'another sees what it asks'
		as 1501 pending
		did "$id"
		as 1501 confirm "$id" --yes
		did granted
		# What the image has there is still there.
		as 1501 exec doored -- ls -A /run
		same "$(cd "$BENCHMON_ROOTFS/run" && { ls -A; echo benchmon; } | sort)" "$(sort <<<"$out")" /run
		as 1501 destroy doored
		did
	done
	ls -lAR --time-style=full-iso "$BENCHMON_ROOTFS/run" >"$tmp/image.after"
	same "$(<"$tmp/image.before")" "$(<"$tmp/image.after")" 'the image'
	rm "$tmp"/image.*
}

# What one uses up is their own share: another's Benches and grants go on.
case_shares() {
	local i
	as 1501 create second --rootfs "$BENCHMON_ROOTFS"
	did second
	as 1501 create third --rootfs "$BENCHMON_ROOTFS"
	refused 125 'uid 1501 has 2 Benches, as many as one user may have' 'rule: user-limits' \
		'max_benches_per_user in /etc/benchmon/gatekeeperd.json'
	py users container 1501 third $$ / 'uid 1501 has 2 Benches' user-limits
	install -o 1501 -g 1501 "$disk/1501/file" "$disk/1501/third"
	for i in file first; do
		as 1501 grant second file "$disk/1501/$i:/in/$i" --yes
		did granted
	done
	as 1501 grant second file "$disk/1501/third:/in/third" --yes
	refused 125 'the Benches of uid 1501 have 3 grants' 'rule: user-limits'
	rm "$disk/1501/third"
	as 1502 grant other file "$disk/1502/file:/in/file" --yes
	did granted
	as 1502 revoke other --all
	did
	as 1502 create theirs --rootfs "$BENCHMON_ROOTFS"
	did theirs
	for i in roots{1..3}; do
		bm create "$i"
		did
		bm destroy "$i"
		did
	done
	as 1502 destroy theirs
	did
	# One less, and there is room.
	as 1501 destroy second
	did
	as 1501 create second --rootfs "$BENCHMON_ROOTFS"
	did second
	as 1501 destroy second
	did
}

case_profiles() {
	local what
	mkdir -p /etc/benchmon/profiles
	install -m 644 "$repo/profiles/apt.json" /etc/benchmon/profiles/
	for what in 'seal apt' 'refresh apt' 'unseal apt'; do
		# shellcheck disable=SC2086
		as 1501 profile $what
		refused 125 'everybody' '(rule: root-only); ask root to do it'
	done
	as 1501 ledger rotate
	refused 125 '(rule: root-only)'
	# One host is nobody else's: each has what they confirmed for it.
	as 1501 grant mine net "$server:8080" --yes
	did granted
	[[ $out =~ mine/[0-9]+ ]]
	what=${BASH_REMATCH[0]}
	as 1502 grant other net "$server:8080" --yes
	did granted
	as 1501 revoke "$what"
	did
	as 1502 show other
	did "$server:8080"
	bm revoke other --all
	did
	rm -r /etc/benchmon/profiles
}

# Asked for while one is starting that somebody else has started.
case_starting() {
	local path=$tmp/other.sock
	stop_daemon
	py users starting "$tmp/settings"
	printed mine other
	# One that serves somebody else is not waited for.
	capture env BENCHMON_SOCKET="$path" BENCHMON_GATEKEEPERD="$(command -v gatekeeperd)" \
		benchmon ls </dev/null
	refused 125 '(rule: ledger-lock); stop the other gatekeeperd'
	rm -f "$path"
	first_grant
}

# Made by crun as that user, in a cgroup that is delegated to them as systemd does it.
theirs() { # NAME UID: leaves its pid in $pid
	local dir=$tmp/c/$1 group=/sys/fs/cgroup/e2e/$1
	mkdir -p "$dir/rootfs"/{bin,proc,dev,sys,tmp} "$group"
	cp /bin/busybox "$dir/rootfs/bin"
	(cd "$dir" && crun spec --rootless)
	jq --argjson uid "$2" 'def own: [{containerID: 0, hostID: $uid, size: 1}];
		.process.terminal = false | .process.args = ["/bin/busybox", "sleep", "infinity"] |
		.linux.uidMappings = own | .linux.gidMappings = own |
		.root.readonly = false | del(.linux.cgroupsPath, .linux.resources)' "$dir/config.json" >"$dir/new"
	mv "$dir/new" "$dir/config.json"
	chown -R "$2:$2" "$dir" "$group"
	sh -c 'echo $$ >"$0/cgroup.procs" && cd "$1" && exec setpriv --reuid "$2" --regid "$2" \
		--clear-groups env XDG_RUNTIME_DIR="$1" crun --root "$1/run" --cgroup-manager=disabled \
		run --detach --pid-file "$1/pid" "$3"' "$group" "$dir" "$2" "$1" </dev/null \
		>"$dir/said" 2>&1 || fail "crun: $(<"$dir/said")"
	slurp "$dir/pid" pid
}

ended_of() { # NAME...
	local name
	for name; do
		echo 1 >"/sys/fs/cgroup/e2e/$name/cgroup.kill"
		soon eval "! grep -q 'populated 1' /sys/fs/cgroup/e2e/$name/cgroup.events"
		rmdir "/sys/fs/cgroup/e2e/$name"
	done
}

case_attach() {
	local pid
	mkdir -p /sys/fs/cgroup/e2e
	theirs u1 1501
	py users container 1502 x "$pid" /e2e/u1 "cgroup /e2e/u1 is uid 1501's and not delegated to uid 1502"
	as 1501 attach x --pid "$pid"
	did 'x attached (ready)'
	as 1502 show x
	refused 125 'there is no Bench "x"'
	py users container 1502 y "$pid" /e2e/u1 "is uid 1501's"
	as 1501 show x
	did 'owner      1501' 'attached'
	as 1501 grant x file "$disk/1501/file:/tmp/file" --yes
	did 'x/1 granted'
	as 1501 exec x -- /bin/busybox cat /tmp/file
	did 'of 1501'
	as 1501 detach x
	did
	# Whose cgroup it is, is not enough; nor whose user namespace.
	chown -R 1502:1502 /sys/fs/cgroup/e2e/u1
	py users container 1502 x "$pid" /e2e/u1 "in a user namespace of uid 1501's"
	py users container 1501 x "$pid" /e2e/u1 "is uid 1502's and not delegated to uid 1501"
	chown 1501 /sys/fs/cgroup/e2e/u1
	py users container 1501 x "$pid" /e2e/u1 "is uid 1502's and not delegated to uid 1501"
	# Root's, whatever its cgroup.
	mkdir /sys/fs/cgroup/e2e/r1
	sh -c 'echo $$ >/sys/fs/cgroup/e2e/r1/cgroup.procs && exec unshare -mpf --mount-proc sleep infinity' &
	soon pgrep -x sleep -P $!
	pid=$(pgrep -x sleep -P $!)
	py users container 1502 x "$pid" /e2e/r1 "cgroup /e2e/r1 is uid 0's and not delegated to uid 1502"
	chown -R 1502:1502 /sys/fs/cgroup/e2e/r1
	py users container 1502 x "$pid" /e2e/r1 "in a user namespace of uid 0's"
	grep -q 'frozen 0' /sys/fs/cgroup/e2e/r1/cgroup.events || fail 'it stands still'
	ended_of u1 r1
	rmdir /sys/fs/cgroup/e2e
	rm -r "$tmp/c"
}
