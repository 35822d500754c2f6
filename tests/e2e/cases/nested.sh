# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# Grants within grants, and names that are left out, as the one who grants them sees it.
: "${e2e:?}" "${tmp:?}" "${disk:?}"

setup() {
	mkdir -p "$disk"/proj/{.git,docs/out,sub}
	echo secret | tee "$disk/proj/.own" >"$disk/proj/sub/.own"
	echo hello | tee "$disk"/proj/{file,.git/config,docs/file,docs/out/file} >"$disk/proj/sub/file"
}

teardown() {
	rm -r "$disk/proj"
}

grant() { # SPEC OPTION...
	bm grant e1 file "$@" --yes
}

granted() { # SPEC OPTION...: leaves its id in $id
	grant "$@"
	did 'granted: '
	[[ $out =~ (e1/[0-9]+)\ granted ]]
	id=${BASH_REMATCH[1]}
}

inside() { # STATUS COMMAND: of a shell in the Bench
	bm exec e1 -- sh -c "$2"
	ended "$1"
}

refused_inside() { # COMMAND
	inside 1 "($1) || exit 1"
	[[ $err == *'Permission denied'* || $err == *'Read-only'* ]] || fail 'not refused'
}

# Everything taken back: no pin, no mount point. And the end of the Bench: a daemon that was killed has
# lost sight of its mounts.
ungranted() {
	bm revoke e1 --all
	did
	bm exec e1 -- sh -c 'rmdir /in /out 2>/dev/null; ls -A /in /out 2>/dev/null'
	same '' "$out" 'what is left in the Bench'
	same '' "$(ls /run/benchmon/pins)" 'what is left of the pins'
	bm destroy e1
	did
}

case_usage() {
	local name
	make_bench e1
	for name in '' / /x x/ a//b . .. ./x ../x x/.. :ro; do
		grant "$disk/proj" --except "$name"
		refused 2 'component in an excepted name; give a name below the directory'
	done
	grant "$disk/proj" --except "$(x 64)"
	refused 2 "a component longer than 63 bytes can't be excepted"
	grant "$disk/proj" --except a/b/c/d/e/f/g/h/i
	refused 2 'more than 8 components in an excepted name'
	grant "$disk/proj" --except "$(x 300)"
	refused 2 '--except: a name is longer than 255 bytes'
	bm grant e1 net 198.51.100.10:80 --except x --yes
	refused 2 'grant: --except is not for net, which takes PROFILE, HOST:PORT or ADDR:PORT[/udp], --private and --for'
	local many=() n
	for n in {1..65}; do
		many+=(--except "n$n")
	done
	grant "$disk/proj" "${many[@]}"
	refused 125 'at most 64 names can be excepted' '(rule: except)'
	grant "$disk/proj" --except $'a\tb'
	refused 125 'without ".", ".." or control bytes (rule: except)'
	ungranted
}

case_refused() {
	make_bench e1
	grant "$disk/proj/file" --except x
	refused 125 'only of a directory can names be excepted (rule: except)' \
		'grant the file without --except'
	grant "$disk/proj" --except nowhere/.own
	refused 125 '"nowhere/.own" is excepted in what is no directory' '(rule: except)'
	grant "$disk/proj" --except file/.own
	refused 125 '(rule: except); except a name that is above it'
	ln -s sub "$disk/proj/link"
	grant "$disk/proj" --except link/.own
	refused 125 '(rule: except); except a name that is above it'
	rm "$disk/proj/link"
	mkdir "$tmp/mnt"
	mount -t ramfs e2e "$tmp/mnt"
	grant "$tmp/mnt:/in/x" --no-idmap --except .own
	refused 125 '".own" is excepted on a file system where a file may have several names' \
		'(rule: except); keep it on ext4, xfs, btrfs, tmpfs or overlay'
	umount "$tmp/mnt"
	truncate -s 8M "$tmp/fold"
	mkfs.ext4 -q -O casefold,^has_journal "$tmp/fold"
	mount -o loop "$tmp/fold" "$tmp/mnt"
	mkdir -p "$tmp/mnt/plain/folded"
	chattr +F "$tmp/mnt/plain/folded"
	grant "$tmp/mnt/plain/folded:/in/x" --except .own
	refused 125 '".own" is excepted in a directory that takes names in any case (rule: except)'
	grant "$tmp/mnt/plain:/in/x" --except folded/.own
	refused 125 '"folded/.own" is excepted in a directory that takes names in any case'
	# Nor can it become one.
	granted "$tmp/mnt/plain:/in/x:rw" --except .own
	bm exec e1 -- sh -c 'rmdir /in/x/folded; chattr +F /in/x'
	[[ $code -ne 0 && $err == *'Permission denied'* ]] ||
		fail 'a directory with excepted names can be made case-insensitive'
	ungranted
	umount "$tmp/mnt"
	rmdir "$tmp/mnt"
	rm "$tmp/fold"
}

case_shown() {
	make_bench e1
	granted "$disk/proj:/in/proj:rw" --except .own --except .git:ro --except sub/.own
	printed 'except    .own: left out' 'except    .git: ro' 'except    sub/.own: left out'
	narrow
	bm show e1
	did '.own: left out' '.git: ro' 'sub/.own: left out'
	narrow
	bm show e1 --format json
	did '"except":[{"name":".own","rights":"none","objects":[' '{"name":".git","rights":"ro"'
	py ledger
	inside 0 'cat /in/proj/file /in/proj/.git/config && echo new >/in/proj/file'
	refused_inside 'cat /in/proj/.own'
	refused_inside 'cat /in/proj/sub/.own'
	refused_inside 'echo x >/in/proj/.git/config'
	refused_inside 'mv /in/proj/sub /in/proj/moved'
	bm events --bench e1
	did excepted
	ungranted
}

case_nested() {
	local outer inner
	make_bench e1
	granted "$disk/proj:/in/proj:rw"
	outer=$id
	grant "$disk/proj/docs:/in/proj/file"
	refused 125 '/in/proj/file would lie inside e1/' '(rule: destination)'
	grant "$disk/proj/docs:/in/proj/sub/docs"
	refused 125 '/in/proj/sub/docs would lie inside e1/' '(rule: destination)'
	granted "$disk/proj/docs:/in/proj/docs"
	inner=$id
	inside 0 'cat /in/proj/docs/file && echo x >/in/proj/new'
	refused_inside 'echo x >/in/proj/docs/file'
	granted "$disk/proj/docs/out:/in/proj/docs/out:rw"
	inside 0 'echo x >/in/proj/docs/out/file'
	refused_inside 'echo x >/in/proj/docs/file'
	stop_daemon KILL
	bm ls
	did e1
	inside 0 'echo x >/in/proj/docs/out/file'
	refused_inside 'echo x >/in/proj/docs/file'
	# What is in it goes with it, and nothing of the host's is removed.
	bm revoke "$outer"
	did "$outer" "$inner" "$id"
	[[ -d $disk/proj/docs/out && -e $disk/proj/docs/out/file ]] || fail 'removed on the host'
	ungranted
}

case_closed() {
	local inner
	make_bench e1
	granted "$disk/proj:/in/proj:rw"
	granted "$disk/proj/docs:/in/docs"
	inner=$id
	refused_inside 'echo x >/in/proj/docs/file'
	bm revoke "$inner"
	did "$inner revoked"
	refused_inside 'cat /in/proj/docs/file'
	stop_daemon KILL
	bm show e1
	[[ $out != *"$inner"* ]] || fail 'it is still shown'
	refused_inside 'cat /in/proj/docs/file'
	# A grant that fails does not open it.
	grant "$disk/proj/docs:/etc"
	ended 125
	refused_inside 'cat /in/proj/docs/file'
	stop_daemon KILL
	bm ls
	refused_inside 'cat /in/proj/docs/file'
	granted "$disk/proj/docs:/in/docs"
	inside 0 'cat /in/proj/docs/file'
	refused_inside 'echo x >/in/proj/docs/file'
	ungranted
}

# Without the pins nobody can say what the marks are worth.
case_unpinned() {
	local pin
	make_bench e1
	bm grant e1 file "$disk/proj" --except .own --yes
	did granted
	stop_daemon
	for pin in /run/benchmon/pins/*; do
		umount "$pin"
	done
	bm ls
	did 'e1    broken'
	bm destroy e1
	did
	same '' "$(ls /run/benchmon/pins)" 'what is left of the pins'
}
