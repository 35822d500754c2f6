# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# --exec own and --exec image.
: "${e2e:?}" "${tmp:?}" "${disk:?}"

# shellcheck source=tests/e2e/containers.sh
. "$e2e/containers.sh"

setup() {
	mkdir -p /sys/fs/cgroup/e2e
	mkdir -p "$disk/src" "$disk/vol"
	echo hello >"$disk/src/file"
	install -m 755 /bin/true "$disk/src/prog"
	make_bench m1 --exec image
}

teardown() {
	bm destroy m1
	did 'm1 destroyed'
	rmdir /sys/fs/cgroup/e2e
	rm -r "$disk/src" "$disk/vol"
}

inside() { # COMMAND...: in m1
	bm exec m1 -- "$@"
}

case_usage() {
	bm create m2 --exec all
	refused 2 '--exec is own or image' 'see `benchmon help create`'
	bm attach m2 nobody --exec none
	refused 2 '--exec is own or image' 'see `benchmon help attach`'
	bm run --exec '' -- true
	refused 2 '--exec is own or image' 'see `benchmon help run`'
	bm exec m1 --exec image -- true
	refused 2 'exec: unknown option --exec'
}

case_shown() {
	bm show m1
	did 'exec       image'
	narrow
	bm ls --format json
	did '"exec":"image"'
	make_bench m2
	bm show m2
	did 'exec       own'
	bm destroy m2
	did
}

case_ordinary_work() {
	inside sh -c 'ls -l / >/work/list && sort /work/list | wc -l >/tmp/count && cat /tmp/count &&
		perl -e "print 6 * 7" && sed -n 1p /etc/passwd && bash -c "cat <<<here" &&
		tar -C / -cf /work/etc.tar etc/apt && tar -tf /work/etc.tar >/dev/null && find /usr -name perl'
	did 42 root: here /usr/bin/perl
	bm exec -t m1 -- sh -c 'test -t 0 && echo a terminal'
	printed 'a terminal'
	bm run --exec image --in "$disk/src" --out "$disk/out" --yes -- \
		sh -c 'cat /in/src/file >/out/out/copy'
	ended 0
	same hello "$(<"$disk/out/copy")"
	rm -r "$disk/out"
}

case_refused() {
	inside sh -c 'cp /bin/true /work/t; cp /bin/true /tmp/t; cp /bin/true /dev/shm/t'
	did
	for place in /work /tmp /dev/shm; do
		inside "$place/t"
		refused 126 "$place/t: Permission denied (rule: exec); \`benchmon events\` has the reason"
		inside /lib64/ld-linux-x86-64.so.2 "$place/t"
		ended 127
	done
	inside sh -c 'echo >/new'
	ended 2
	[[ $err == *'Read-only file system'* ]] || fail 'its root can be written'
	inside sh -c ': >/proc/self/mem'
	ended 2
	bm events --bench m1
	printed 'DENY exec x /work/t' 'DENY mmap x ' 'DENY file_open w /' '(exec-image)'
	# An interpreter reads: that is no execution.
	inside sh -c 'echo "echo it ran" >/work/script'
	inside sh /work/script
	did 'it ran'
	# The same in one without.
	bm run -- sh -c 'cp /bin/true /work/t && /work/t && echo x >/new && : >/proc/self/mem'
	ended 0
}

# Its root is read-only, and yet there is a place for what it is granted.
case_grants() {
	bm grant m1 file "$disk/src" --yes
	did 'm1/1 granted'
	bm grant m1 file "$disk/src/file:/deep/in/there/file:rw" --yes
	did 'm1/2 granted'
	bm grant m1 file "$disk/vol:/work/vol" --yes
	did 'm1/3 granted'
	inside cat /in/src/file /deep/in/there/file
	did $'hello\nhello'
	inside sh -c 'mkdir /in/x || mkdir /deep/x || rmdir /work/vol || echo none'
	printed none
	inside /in/src/prog
	refused 126 '/in/src/prog: Permission denied'
	bm revoke m1 --all
	did
	inside sh -c 'ls -d /in/src /deep/in/there/file /work/vol'
	ended 2
	same '' "$out" 'what is left of the grants'
	bm grant m1 file "$disk/src" --yes
	did 'm1/4 granted'
	bm grant m1 file "$disk/src/file:/usr/bin/perl" --yes
	ended 125
	[[ $err == *'/usr/bin/perl exists in the Bench and would be hidden (rule: destination)'* ]] ||
		fail 'something of its image was hidden'
	bm revoke m1/4
	did
}

case_attach() {
	bundle image userns '.mounts += [{destination: "/exec", type: "tmpfs", source: "tmpfs"}]' \
		/busybox sh /script
	cat >"$tmp/c/image/rootfs/script" <<-'END'
		cp /busybox /exec/b || exit 1
		/exec/b true
		echo "tmpfs $?"
		echo >/new
		echo "root $?"
		true >/proc/self/mem
		echo "mem $?"
		/busybox true
		echo "own $?"
	END
	created image
	bm attach a1 image --exec image
	did 'a1 attached (ready): nothing is granted'
	bm show a1
	did 'exec       image' 'origin     attached'
	started image
	soon gone "$pid"
	slurp "$tmp/c/image/said" out
	printed 'tmpfs 126' 'root 1' 'mem 1' 'own 0'
	bm events --bench a1
	printed 'DENY file_open rx /b ' 'DENY mknod w ' '(exec-image)' '(rights)'
	bm detach a1
	did
	removed image
	# What runs already may have made itself what no hook sees again.
	running busy userns
	bm attach a1 busy --exec image
	refused 125 'the container runs already and may execute what is not of its image' \
		'(rule: exec-image); attach it by its id, created and not started, or with --exec own'
	bm attach a1 busy
	did
	bm detach a1
	did
	removed busy
}
