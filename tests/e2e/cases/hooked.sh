# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# `crun run` with a createRuntime hook that attaches: walls before the runtime has even pivoted.
: "${e2e:?}" "${tmp:?}" "${disk:?}"

# shellcheck source=tests/e2e/containers.sh
. "$e2e/containers.sh"

# crun sends what a hook prints to /dev/null.
setup() {
	mkdir -p /sys/fs/cgroup/e2e "$disk/src"
	echo hello >"$disk/src/file"
	printf '%s\n' '#!/bin/sh' "cat >'$tmp/state'" \
		"exec '$(command -v benchmon)' attach \"\$@\" --hook <'$tmp/state' >'$tmp/hook' 2>&1" \
		>"$tmp/attach"
	chmod +x "$tmp/attach"
}

teardown() {
	rmdir /sys/fs/cgroup/e2e
	rm -r "$disk/src"
	rm -f "$tmp/attach" "$tmp/state" "$tmp/hook"
}

hooked() { # NAME KIND JQ-FILTER COMMAND...: as Bench h1
	bundle "$1" "$2" '.hooks = {createRuntime: [{path: "'"$tmp/attach"'", args: ["attach", "h1"]}]} | '"$3" \
		"${@:4}"
}

runs() { # NAME: in the background; leaves the runtime's pid in $runtime
	"${runc[@]}" run --bundle "$tmp/c/$1" --pid-file "$tmp/c/$1/pid" "$1" </dev/null \
		>"$tmp/c/$1/said" 2>&1 &
	runtime=$!
}

has() { # FILE WORDS
	local found=
	[[ ! -e $1 ]] || slurp "$1" found
	[[ $found == *"$2"* ]]
}

began() { # NAME: it says so, or it never will
	has "$tmp/c/$1/said" $'\nin' || gone "$runtime"
}

attached_h1() {
	has "$tmp/hook" 'h1 attached (ready): nothing is granted' || {
		tail -n 5 "$tmp/hook" "$tmp"/c/*/said
		fail 'the hook did not attach'
	}
}

cleaned() { # NAME
	umount "$tmp/c/$1/rootfs"
	rm -r "$tmp/c/$1"
	rmdir --ignore-fail-on-non-empty "$tmp/c"
}

# From its first instruction to its end, with all that an operator does from outside meanwhile.
life() { # KIND JQ-FILTER
	hooked job "$1" "$2" /busybox sh -c 'cat /vol/secret; cat /proc/kallsyms; echo in
		exec sleep infinity'
	runs job
	soon began job
	attached_h1
	slurp "$tmp/c/job/said" out
	[[ $out == *"can't open '/vol/secret': No such file or directory"* ]] ||
		fail "it met its volume: $out"
	[[ $out == *"can't open '/proc/kallsyms': Permission denied"* ]] || fail "it said: $out"
	pid_of job
	bm show h1
	did 'state      ready' 'origin     attached' 'container  job' 'cgroup     /e2e/job' \
		"/vol (ext4), on the host $disk/vol" 'grants     none'
	bm events --bench h1 --format json
	printed '"hook":"file_open"' '"path":"/kallsyms"' '"comm":"cat"'
	in_container job /busybox cat "/proc/self/comm"
	did busybox
	in_container job /busybox sh -c 'echo x >/made && cat /made'
	did x
	bm exec h1 -- /busybox cat /made
	did x
	bm grant h1 file "$disk/src:/in/src" --yes
	did "h1/1 granted: $disk/src as /in/src, ro"
	in_container job /busybox cat /in/src/file
	did hello
	bm revoke h1/1
	ended 0
	in_container job /busybox cat /in/src/file
	[[ $code -ne 0 ]] || fail 'what was revoked is open'
	# In its first moments it met nothing but what it was denied above.
	bm events --bench h1 --format json
	# As the one who did it, and not as the parent of who came in by it.
	[[ $out != *'"comm":"crun",'* ]] || fail 'its runtime was denied something'
	capture "${runc[@]}" kill job KILL
	did ''
	wait "$runtime" || :
	soon gone "$pid"
	bm detach h1
	did 'h1 detached, grants revoked: 0'
	capture "${runc[@]}" delete --force job
	cleaned job
}

case_plain() {
	life plain .
}

case_userns() {
	life userns .
}

# What is ro is made so after the hooks; the rootfs too, and what its runtime masks.
case_read_only() {
	hooked job plain '.root.readonly = true | .mounts |= map(if .destination == "/vol" then
			.options += ["ro"] else . end) | .linux.maskedPaths = ["/proc/kcore", "/sys/firmware"] |
			.linux.readonlyPaths = ["/proc/sys"]' \
		/busybox sh -c 'ls -A /vol; ls -A /sys/firmware; cat /proc/kcore; echo x >/made; echo end'
	runs job
	wait "$runtime" || :
	attached_h1
	slurp "$tmp/c/job/said" out
	[[ $out == *'Read-only file system'*end ]] || fail "it said: $out"
	bm detach h1
	ended 0
	cleaned job
}

# With every capability and the host's namespaces.
case_privileged() {
	life plain 'del(.hostname, .linux.seccomp, .linux.maskedPaths, .linux.readonlyPaths) |
		.linux.namespaces = [{type: "mount"}] |
		.process.capabilities |= map_values(["CAP_SYS_ADMIN", "CAP_SYS_PTRACE", "CAP_DAC_OVERRIDE"]) |
		.mounts |= map(select(.type != "mqueue" and .type != "sysfs"))'
}

# A hook that fails leaves no container that runs.
case_refused() {
	running c1 plain
	bm attach h1 c1
	ended 0
	hooked job plain . /busybox touch /began
	runs job
	! wait "$runtime" || fail 'it ran, though it could not be attached'
	has "$tmp/hook" 'there is a Bench h1 already (rule: bench-name); take another name' ||
		fail "the hook said: $(<"$tmp/hook")"
	[[ ! -e $tmp/c/job/rootfs/began ]] || fail 'its payload began'
	cleaned job
	bm detach h1
	ended 0
	removed c1
}

# Only who is still at its hooks: what has begun could have done anything.
case_late() {
	running c1 plain
	printf '{"id":"c1","pid":%d,"bundle":"%s","root":"rootfs","annotations":{}}' "$pid" "$tmp/c/c1" \
		>"$tmp/state"
	capture benchmon attach h1 --hook <"$tmp/state"
	refused 125 'the container is past its createRuntime hooks (rule: own-root)'
	capture benchmon attach h1 c1 --hook <"$tmp/state"
	refused 2 'attach: name the container by one of id, --pid, --cgroup and --hook'
	removed c1
}

case_bad_state() {
	local state
	while IFS='|' read -r state wanted; do
		printf %s "$state" >"$tmp/state"
		capture benchmon attach h1 --hook <"$tmp/state"
		refused 125 "$wanted"
	done <<'END'
|the container's state on standard input
[]|the container's state on standard input
{"id":"a","id":"b"}|the container's state on standard input
{"id":"../a","pid":1,"bundle":"/b","root":"rootfs"}|is no container id (rule: container-id)
{"id":"a","bundle":"/b","root":"rootfs"}|attach: no container is named (rule: protocol)
{"id":"a","pid":"1","bundle":"/b","root":"rootfs"}|attach: no container is named (rule: protocol)
{"id":"a","pid":1,"bundle":"/b"}|the runtime does not say what the root is
{"id":"a","pid":1,"root":"rootfs"}|the runtime does not say what the root is
{"id":"a","pid":4194304,"bundle":"/b","root":"rootfs"}|there is no process 4194304
END
}
