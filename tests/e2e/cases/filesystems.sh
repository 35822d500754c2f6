# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# A grant is the same on each file system: what it gives, what it refuses, whose the files are.
: "${e2e:?}" "${repo:?}" "${tmp:?}" "${disk:?}"

# shellcheck source=tests/e2e/containers.sh
. "$e2e/containers.sh"

mnt=$tmp/mnt

setup() {
	make_bench e1
	capture benchmon exec e1 -- sh -c 'cat >/work/payload && chmod 755 /work/payload' \
		<"$repo/build/attack/payload"
	did
	init_of e1
	init=$value
	read -r _ base _ <"/proc/$init/uid_map"
	echo "$init $base" >"$tmp/e1"
	mkdir "$mnt"
}

teardown() {
	bm destroy e1
	did
	rmdir "$mnt"
	rm "$tmp/e1"
}

inside() { # COMMAND...
	bm exec e1 -- "$@"
}

image() { # SIZE MKFS...: at $mnt
	truncate -s "$1" "$tmp/mnt.image"
	"${@:2}" "$tmp/mnt.image" >/dev/null
	mount -o loop "$tmp/mnt.image" "$mnt"
}

emptied() {
	umount "$mnt"
	rm -f "$tmp/mnt.image"
}

granted() { # SPEC WORDS [OPTION...]
	bm grant e1 file "$1" --yes "${@:3}"
	[[ $code -eq 0 ]] || fail 'not granted'
	printed granted "$2"
}

# Executed in no way, be its mount made executable behind everybody's back.
never_executed() {
	inside /work/payload map /in/src/prog private
	ended 13
	inside /work/payload mprotect /in/src/prog private
	ended 13
	inside /in/src/prog ok
	ended 126
	inside /lib64/ld-linux-x86-64.so.2 /in/src/prog ok
	[[ $code -ne 0 ]] || fail 'ld.so executed it'
}

# SEEN is whose a file of root's is in the Bench, MADE whose one made there is on the host.
matrix() { # WORDS SEEN MADE [OPTION...]
	local words=$1 seen=$2 made=$3
	shift 3
	mkdir "$mnt/src" "$mnt/out"
	chmod 777 "$mnt/out"
	echo hello >"$mnt/src/file"
	install -m 755 "$repo/build/attack/payload" "$mnt/src/prog"
	echo old >"$mnt/out/old"
	chmod 666 "$mnt/out/old"
	granted "$mnt/src" "$words" "$@"
	granted "$mnt/out:/out:rw" "$words" "$@"
	bm show e1 --format json
	key denied
	before=$value

	inside sh -c 'cat /in/src/file && ls /in/src && stat -c %u /in/src/file'
	did
	same $'hello\nfile\nprog\n'"$seen" "$out"
	inside sh -c 'cd /out && echo new >a && echo more >>a && mkdir d && mv a d/b && ln d/b c &&
		rm d/b && rmdir d && chmod 640 c && touch -d @1000000000 c && ln -s c l && cat l &&
		echo changed >old && echo added >>old && cat old && : >gone && rm gone && ls'
	did
	same $'new\nmore\nchanged\nadded\nc\nl\nold' "$out"
	same "$made 640 1000000000" "$(stat -c '%u %a %Y' "$mnt/out/c")" 'what was made'
	same $'changed\nadded' "$(<"$mnt/out/old")" 'what was changed'
	# The kernel opens what lies below an overlay once more: that is no denial.
	bm show e1 --format json
	key denied
	[[ $value -eq $before ]] || {
		benchmon events --bench e1
		fail 'ordinary use was denied'
	}
	inside sh -c 'echo x >/in/src/file'
	[[ $code -ne 0 && $err == *'Read-only file system'* ]] || fail 'written to what is ro'
	same hello "$(<"$mnt/src/file")"
	never_executed
	capture "$repo/build/attack/payload" remount "$init" /in/src ''
	ended 0
	never_executed
	bm events --bench e1
	printed '(noexec)'
	bm revoke e1 --all
	did revoked
	inside sh -c 'cat /in/src/file || : >/out/new'
	[[ $code -ne 0 ]] || fail 'still reachable'
	rm -r "$mnt/src" "$mnt/out"
}

mapped() {
	read -r init base <"$tmp/e1"
	matrix 'mapped: yours are' 0 0
}

not_mapped() {
	read -r init base <"$tmp/e1"
	mkdir "$mnt/src"
	bm grant e1 file "$mnt/src" --yes
	ended 125
	[[ $err == 'benchmon: its file system can'\''t be idmapped (rule: idmap); keep it on ext4,'* &&
		$err == *' or pass --no-idmap to grant it with the host'\''s owners as they are' ]] ||
		fail 'not that refusal'
	rmdir "$mnt/src"
	matrix 'as they are, not mapped' 65534 "$base" --no-idmap
}

case_ext4() {
	image 32M mkfs.ext4 -q
	mapped
	emptied
}

case_xfs() {
	image 320M mkfs.xfs -q
	mapped
	emptied
}

case_btrfs() {
	image 128M mkfs.btrfs -q
	mapped
	emptied
}

case_tmpfs() {
	mount -t tmpfs e2e "$mnt"
	case $(uname -r) in
	6.1.*) not_mapped ;; # from 6.3 on it can be
	*) mapped ;;
	esac
	emptied
}

overlay() {
	mkdir -p "$disk"/{lower,upper,work}
	mount -t overlay -o "lowerdir=$disk/lower,upperdir=$disk/upper,workdir=$disk/work" e2e "$mnt"
}

case_overlay() {
	overlay
	not_mapped
	umount "$mnt"
	rm -r "$disk"/{lower,upper,work}
}

# What is in the lower layer is copied up when the Bench writes to it.
case_overlay_lower() {
	mkdir -p "$disk/lower/out/d"
	chmod 777 "$disk/lower/out" "$disk/lower/out/d"
	echo lower >"$disk/lower/out/file"
	echo lower >"$disk/lower/out/gone"
	chmod 666 "$disk/lower/out/file"
	overlay
	granted "$mnt/out:/out:rw" 'as they are, not mapped' --no-idmap
	inside sh -c 'cd /out && echo upper >>file && cat file && rm gone && : >d/new && ls . d'
	did
	same $'lower\nupper\n.:\nd\nfile\n\nd:\nnew' "$out"
	same $'lower\nupper' "$(<"$mnt/out/file")"
	same lower "$(<"$disk/lower/out/file")"
	[[ -c $disk/upper/out/gone && -f $disk/upper/out/d/new ]] || fail 'not in the upper layer'
	bm revoke e1 --all
	did revoked
	umount "$mnt"
	rm -r "$disk"/{lower,upper,work}
}

# Files of two subvolumes have the same device and inode numbers: one is no grant for the other.
case_subvolumes() {
	local name
	image 128M mkfs.btrfs -q
	for name in a b; do
		btrfs -q subvolume create "$mnt/$name"
		echo "content of $name" >"$mnt/$name/file"
	done
	same "$(stat -c %i "$mnt/a" "$mnt/a/file")" "$(stat -c %i "$mnt/b" "$mnt/b/file")"
	mkdir -p /sys/fs/cgroup/e2e
	bundle c1 plain ".mounts += [{destination: \"/vols\", type: \"bind\", source: \"$mnt\",
		options: [\"bind\"]}]" /busybox sleep infinity
	created c1
	started c1
	in_container c1 /busybox cat /vols/b/file
	did 'content of b'
	bm attach a1 c1
	did
	for name in '' /file; do
		bm grant a1 file "$mnt/a$name:/in/a" --yes
		did granted
		in_container c1 /busybox sh -c "cat /in/a/file || cat /in/a"
		printed 'content of a'
		in_container c1 /busybox cat /vols/b/file
		[[ $code -ne 0 && -z $out ]] || fail 'the other subvolume is open'
		bm revoke a1 --all
		did revoked
	done
	bm detach a1
	did
	removed c1
	rmdir /sys/fs/cgroup/e2e
	rm -r "$disk/vol"
	emptied
}
