# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# gatekeeperd as a service: what it and its manager say to each other, its unit, its settings.
: "${e2e:?}" "${tmp:?}" "${disk:?}" "${bin:?}" "${server:?}"

setup() {
	mkdir -p "$disk/src"
	echo hello >"$disk/src/file"
	make_bench e1
	# Its mounts are those of the daemon that has made it; the cases come with others.
	stop_daemon
	bm ls
	did e1
}

teardown() {
	bm destroy e1
	did
	rm -r "$disk/src"
	rm -f "$tmp"/{service.log,notify,settings,asked}
}

# An ordinary one again.
as_ever() {
	stop_daemon
	bm ls
	did e1
}

settings() { # JSON
	rm -f "$tmp/settings"
	printf '%s\n' "$1" >"$tmp/settings"
}

served_with() { # ARGUMENT...: one of them is running instead
	stop_daemon
	py service up "$@"
	did
}

case_notified() {
	stop_daemon
	py service notified
	bm ls
	did e1
}

case_activated() {
	stop_daemon
	py service activated
	rm /run/benchmon/gatekeeperd.sock
	bm ls
	did e1
}

case_misfits() {
	stop_daemon
	py service misfits
	bm ls
	did e1
}

case_settings() {
	local what
	settings '{"log_level":"debug","idle_seconds":30}'
	capture gatekeeperd --check-config --config "$tmp/settings" </dev/null
	did '"log_level":"debug"' '"idle_seconds":30' '"max_connections":256'
	capture gatekeeperd --check-config --config "$tmp/none" </dev/null
	same 1 "$code" 'the exit code'
	[[ $err == "gatekeeperd: $tmp/none: No such file or directory" ]] || fail 'a missing file is taken'
	served_with --config "$tmp/settings"
	bm ls
	did e1
	slurp "$tmp/service.log" out
	[[ $out == *'<7>process '*' of uid 0 asks: ls'* ]] || fail "nothing is told of a request: $out"
	# What is said by hand comes first.
	served_with --config "$tmp/settings" --log-level warning
	bm ls
	did e1
	stop_daemon
	slurp "$tmp/service.log" out
	same '' "$out" 'its log'
	for what in '{"x":1}|unknown key "x"' '{"idle_seconds":"60"}|"idle_seconds" is no whole number' \
		'{"operators":"no-such-group"}|there is no such group' '{|JSON ends too early'; do
		settings "${what%%|*}"
		py service badly_configured "$tmp/settings" "${what#*|}"
		capture gatekeeperd --config "$tmp/settings" --log-level info </dev/null
		same 1 "$code" 'the exit code'
		[[ $err == "<3>start: $tmp/settings: "*"${what#*|}"* ]] || fail "${what#*|} is not refused"
	done
	settings '{}'
	chmod 666 "$tmp/settings"
	py service badly_configured "$tmp/settings" '(rule: config-mode)'
	chmod 644 "$tmp/settings"
	chown 65534 "$tmp/settings"
	py service badly_configured "$tmp/settings" '(rule: config-owner)'
	bm ls
	did e1
}

as_user() { # UID GID GROUPS ARGUMENT...
	capture setpriv --reuid "$1" --regid "$2" --groups "$3" "$bin/benchmon" "${@:4}" </dev/null
}

# Who is in the group may do what root may do with Benches, and nothing with files that aren't theirs.
case_operators() {
	settings '{"operators":"nogroup"}'
	served_with --config "$tmp/settings"
	same '660 0:65534' "$(stat -c '%a %u:%g' /run/benchmon/gatekeeperd.sock)" 'the socket'
	as_user 65533 65533 65534 ls
	did 'no Benches'
	as_user 65533 65533 65534 create m1 --rootfs "$BENCHMON_ROOTFS"
	did m1
	as_user 65533 65534 65533 ls
	did m1
	[[ $out != *e1* ]] || fail 'it sees the Bench of root'
	as_user 65533 65533 65533,65532 ls
	refused 125 'you may not talk to gatekeeperd (rule: socket)'
	mkdir "$disk/mine"
	echo mine >"$disk/mine/file"
	chown -R 65533:65533 "$disk/mine"
	as_user 65533 65533 65534 grant m1 file "$disk/mine:/in/mine:rw" --yes
	did granted
	as_user 65533 65533 65534 exec m1 -- sh -c 'cat /in/mine/file; echo new >/in/mine/new'
	did mine
	same 65533 "$(stat -c %u "$disk/mine/new")" 'the owner of a new file'
	as_user 65533 65533 65534 grant m1 file "$disk/src:/in/src:rw" --yes
	refused 125 '(rule: own-credentials)'
	chmod 600 "$disk/src/file"
	as_user 65533 65533 65534 grant m1 file "$disk/src/file:/in/src" --yes
	refused 125 'you may not read it (rule: own-credentials)'
	bm show m1 --format json
	did '"confirmed":{"uid":65533,"how":"yes"}'
	as_user 65533 65533 65534 revoke m1 --all
	did
	as_user 65533 65533 65534 destroy m1
	did
	# By a path, which somebody else than root may lead elsewhere.
	mkdir -p "$tmp/mnt" "$disk/mine"/{one,two}
	mount -t overlay -o "ro,lowerdir=$disk/mine/one:$disk/mine/two" e2e "$tmp/mnt"
	as_user 65533 65533 65534 create o1 --rootfs "$tmp/mnt"
	refused 125 "only root's images are taken apart into their layers (rule: image)"
	umount "$tmp/mnt"
	rmdir "$tmp/mnt"
	# A socket that lets somebody in who is none is not all that stands before the daemon.
	chmod 666 /run/benchmon/gatekeeperd.sock
	as_user 65533 65533 65533 ls
	refused 125 'ls: uid 65533 is no operator (rule: operator); run it as root, or as one of the operators'
	as_ever
	same '600 0:0' "$(stat -c '%a %u:%g' /run/benchmon/gatekeeperd.sock)" 'the socket'
	rm -r "$disk/mine"
}

# Where systemd runs, the service is started, and not a process of ours beside it.
case_started_by_systemd() {
	local unit=/run/systemd/system/gatekeeperd.service made=
	[[ ! -e $unit ]] || fail "$unit is there already"
	[[ -d /run/systemd/system ]] || made=1
	mkdir -p /run/systemd/system "$tmp/fake"
	printf '#!/bin/sh\nexec python3 -B -S -s %s/helpers/service.py systemctl "$@"\n' "$e2e" \
		>"$tmp/fake/systemctl"
	chmod 755 "$tmp/fake/systemctl"
	sed "s|@LIBEXECDIR@|$bin|" "$repo/tools/systemd/gatekeeperd.service.in" >"$unit"
	PATH=$tmp/fake:$PATH
	stop_daemon
	bm ls
	did e1
	same '--no-ask-password start gatekeeperd.service' "$(<"$tmp/asked")" 'what systemctl was asked'
	[[ $(<"$tmp/service.log") == *' listens at '* ]] || fail 'the daemon is not the one it started'
	# It says why not.
	stop_daemon
	printf '#!/bin/sh\necho "Job for gatekeeperd.service failed." >&2\nexit 1\n' >"$tmp/fake/systemctl"
	bm ls
	refused 125 'systemd could not start gatekeeperd: Job for gatekeeperd.service failed.; see `journalctl -u gatekeeperd`'
	no_daemon || fail 'and yet there is one'
	# A service that is another program is not this one.
	sed -i "s|^ExecStart=.*|&-other|" "$unit"
	bm ls
	did e1
	rm -r "$unit" "$tmp/fake" "$tmp/asked"
	[[ -z $made ]] || rmdir -p /run/systemd/system 2>/dev/null || :
}

no_daemon() {
	! daemon_pid
}
