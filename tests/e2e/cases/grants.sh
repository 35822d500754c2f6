# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# What may be granted and where it may appear, as the one who asks for it sees it.
: "${e2e:?}" "${tmp:?}" "${disk:?}" "${server:?}"

setup() {
	mkdir -p "$disk/src/below" "$disk/out"
	echo hello >"$disk/src/file"
	echo one >"$disk/one"
	ln -s src "$disk/link"
	make_bench e1
}

teardown() {
	bm destroy e1
	did
	rm -r "$disk"/{src,out,one,link}
}

# Nothing in the Bench but its own: no mount, no mount point, no grant.
ungranted() {
	bm show e1
	did 'grants     none'
	bm exec e1 -- sh -c 'ls -A /in /out; grep -c " /in\| /out" /proc/mounts'
	printed 0
	[[ ${out%0} == '' ]] || fail 'something is left in /in or /out'
}

grant() { # SPEC OPTION...: a file or directory to e1
	bm grant e1 file "$@" --yes
}

# A refusal, after what was shown on stdout.
turned_down() { # CODE WORDS...
	local words
	ended "$1"
	[[ $err == 'benchmon: '* && $err != *$'\n'* ]] || fail 'the refusal is not one line'
	for words in "${@:2}"; do
		[[ $err == *"$words"* ]] || fail "not in the refusal: $words"
	done
}

case_dest_syntax() {
	local dest
	for dest in / in/x . '' ..; do
		grant --source "$disk/src" --dest "$dest"
		refused 125 'the destination is not below / (rule: destination)' \
			'give an absolute path such as /in/src'
	done
	for dest in /in/../x /.. /in/. /in/./x /in//x //x /in/; do
		grant --source "$disk/src" --dest "$dest"
		refused 125 'empty, "." or ".." component in the destination (rule: destination)'
	done
	for dest in $'/in/a\nb' $'/\x01' $'/in/\x7f'; do
		grant --source "$disk/src" --dest "$dest"
		refused 125 'control byte 0x' 'in the destination (rule: destination)'
	done
	grant --source "$disk/src" --dest "/$(x 255)"
	refused 125 'the destination is longer than 255 bytes (rule: destination)'
	grant --source "$disk/src" --dest "/$(x 5000)"
	refused 125 'the destination is longer than'
	grant --source "$disk/src" --dest $'/in/\xff'
	refused 125 'is not UTF-8, which is all that a request can carry (rule: utf-8)'
}

case_usage() {
	grant "$disk/src:in/x"
	refused 2 "'in/x': neither ro or rw nor an absolute DEST"
	grant "$disk/src:/in/x:rx"
	refused 2 "'rx': no such rights; say ro or rw"
	grant "$disk/src:/in/x:ro:ro"
	refused 2 'more than SRC:DEST:RIGHTS; for a name with colons use --source'
	grant ":/in/x"
	refused 2 'no source before the colon'
	grant
	refused 2 'grant: give either SRC[:DEST][:ro|rw] or --source PATH'
	grant "$disk/src" --dest /in/x
	refused 2 'grant: give either SRC[:DEST][:ro|rw] or --source PATH'
	grant --source "$disk/src" --rights wx
	refused 2 "'wx': no such rights"
	grant "$disk/src" --private
	refused 2 'grant: --private is not for file, which takes SRC[:DEST][:ro|rw] or --source PATH'
	bm grant e1 disk "$disk/src" --yes
	refused 2 "grant: no kind 'disk', the kinds are file, net, listen and broker"
	bm grant e1 net --yes
	refused 2 'grant: net takes PROFILE, HOST:PORT or ADDR:PORT[/udp], --private and --for'
	bm grant nobody file "$disk/src" --yes
	refused 125 'there is no Bench "nobody"; see `benchmon ls`'
}

# Places that are taken, or are no place to mount on: known only when it is tried.
case_dest_taken() {
	local dest
	for dest in /etc /usr/bin /etc/passwd /dev /proc /work; do
		grant "$disk/src:$dest"
		turned_down 125 "$dest exists in the Bench and would be hidden (rule: destination)" \
			'give one that does not exist yet'
	done
	grant "$disk/src:/dev/null"
	turned_down 125 '(rule: destination); give one'
	for dest in /etc/passwd/x /bin/x; do
		grant "$disk/src:$dest"
		turned_down 125 "${dest%/x} in the Bench is no directory to be used: " \
			'(rule: destination); give another destination'
	done
	for dest in /proc/x /proc/1/root/x; do
		grant "$disk/src:$dest"
		turned_down 125 '(rule: destination); give '
	done
	grant "$disk/src"
	printed 'granted: '
	grant "$disk/out:/in/src"
	refused 125 '/in/src is where e1/' '(rule: destination); give another one, or revoke that'
	grant "$disk/out:/in/src/below/x"
	refused 125 '/in/src/below/x would lie inside e1/' '(rule: destination); give one outside of it'
	grant "$disk/out:/in"
	turned_down 125 '/in exists in the Bench and would be hidden'
	[[ ! -e $disk/src/below/x ]] || fail 'a mount point was made on the host'
	bm revoke e1 --all
	did revoked
	bm exec e1 -- rmdir /in
	ungranted
}

# A name that the Bench prepares to lead elsewhere.
case_dest_traps() {
	bm exec e1 -- sh -c 'ln -s /etc /work/link; ln -s /nowhere /work/dangling; mkdir /work/dir'
	did
	grant "$disk/src:/work/link"
	turned_down 125 '/work/link exists in the Bench and would be hidden'
	grant "$disk/src:/work/dangling"
	turned_down 125 '/work/dangling exists in the Bench and would be hidden'
	grant "$disk/src:/work/link/x"
	turned_down 125 '/work/link in the Bench is no directory to be used'
	bm exec e1 -- sh -c 'test ! -e /etc/x && rm -r /work/link /work/dangling /work/dir'
	did
	ungranted
}

case_source_kind() {
	local path
	mkfifo "$disk/fifo"
	grant "$disk/link"
	refused 125 "$disk/link is a symbolic link (rule: pinned-object)" \
		'name what it points to: a grant is an object, not a path'
	grant "$disk/link/"
	refused 125 "$disk/link is a symbolic link (rule: pinned-object)"
	grant "$disk/fifo"
	refused 125 "$disk/fifo is a pipe (rule: pinned-object); grant a directory or a regular file"
	grant /dev/null
	refused 125 '/dev/null is a character device (rule: pinned-object)'
	grant /dev/loop0
	refused 125 '/dev/loop0 is a block device (rule: pinned-object)'
	grant /run/benchmon/gatekeeperd.sock
	refused 125 '/run/benchmon/gatekeeperd.sock is a socket (rule: pinned-object)'
	grant "$disk/nowhere"
	refused 125 "$disk/nowhere: No such file or directory"
	grant "$disk/one/x"
	refused 125 "$disk/one/x: Not a directory"
	for path in /proc /proc/1/environ /proc/self/ns /sys /sys/kernel/mm /sys/fs/cgroup \
		/sys/fs/bpf /dev/pts /dev/mqueue /sys/kernel/security /sys/kernel/debug; do
		grant "$path:/in/x"
		refused 125 'a view of the kernel (' 'is never granted (rule: object-kind)' \
			'grant files of a disk or of tmpfs'
	done
	grant --source / --dest /in/x
	refused 125 'the root directory is never granted (rule: object-kind)' \
		'grant the directory that is meant'
	rm "$disk/fifo"
}

case_own_files() {
	local path
	for path in /run/benchmon /var/lib/benchmon /var/lib/benchmon/ledger.jsonl /var/log/benchmon \
		/run /var /var/lib /var/log; do
		grant "$path:/in/x"
		refused 125 "$path holds benchmon's own files (rule: own-files)" \
			'grant a directory that has not'
	done
	# Through another name of the same directory.
	mkdir "$tmp/mnt"
	mount --bind /var/lib/benchmon "$tmp/mnt"
	grant "$tmp/mnt:/in/x" --no-idmap
	turned_down 125 "holds benchmon's own files (rule: own-files)"
	umount "$tmp/mnt"
	rmdir "$tmp/mnt"
}

case_source_rights() {
	grant "$BENCHMON_ROOTFS/etc/hostname:/out/x:rw"
	refused 125 "$BENCHMON_ROOTFS/etc/hostname: Read-only file system"
	grant "$BENCHMON_ROOTFS/etc:/out/x:rw"
	refused 125 "$BENCHMON_ROOTFS/etc: Read-only file system"
	grant "$BENCHMON_ROOTFS:/in/x"
	refused 125 'is Bench e1'\''s own already (rule: one-grant)'
	grant "$e2e/helpers:/in/x"
	turned_down 125 'its file system can'\''t be idmapped (rule: idmap)' \
		'keep it on ext4, xfs or btrfs, or pass --no-idmap'
	bm grant e1 file "$e2e/helpers:/in/x" --no-idmap --yes
	did granted 'as they are, not mapped'
	bm exec e1 -- ls -d /in/x/serve.py
	did /in/x/serve.py
	bm revoke e1 --all
	did revoked
	bm exec e1 -- sh -c 'rmdir /in'
	ungranted
}

case_submounts() {
	mkdir "$disk/src/below/mnt"
	mount -t tmpfs e2e "$disk/src/below/mnt"
	grant "$disk/src"
	turned_down 125 "$disk/src/below/mnt is mounted below it; what that covers would show" \
		'(rule: no-submounts); grant the directories that are meant one by one'
	# Beside it there is none.
	mkdir "$disk/src/b"
	bm grant e1 file "$disk/src/b" --yes
	did granted
	bm revoke e1 --all
	did revoked
	umount "$disk/src/below/mnt"
	rmdir "$disk/src/below/mnt" "$disk/src/b"
	bm exec e1 -- rmdir /in
	ungranted
}

case_one_object() {
	grant "$disk/src"
	did 'granted: '
	[[ $out =~ (e1/[0-9]+)\ granted ]]
	grant "$disk/src:/in/again"
	refused 125 "${BASH_REMATCH[1]} grants this object already (rule: one-grant); revoke that first"
	# By another name, too.
	mkdir "$tmp/mnt"
	mount --bind "$disk/src" "$tmp/mnt"
	grant "$tmp/mnt:/in/again"
	refused 125 "${BASH_REMATCH[1]} grants this object already (rule: one-grant)"
	umount "$tmp/mnt"
	rmdir "$tmp/mnt"
	bm revoke "${BASH_REMATCH[1]}"
	did "${BASH_REMATCH[1]} revoked"
	bm exec e1 -- rmdir /in
	ungranted
}

case_addresses() {
	local line address words remedy
	while IFS= read -r line; do
		address=${line%%|*}
		words=${line#*|}
		remedy=
		[[ $words != *'; '* ]] || remedy=${words#*; }
		words=${words%%; *}
		printf -v address %b "$address"
		bm grant e1 net "$address" --yes
		refused 125 "$words" '(rule: a destination is HOST:PORT or ADDRESS:PORT[/tcp|/udp])' "$remedy"
	done <<-'END'
		|the destination is empty
		198.51.100.10|the port is missing
		198.51.100.10:|the port is missing
		:80|the address is missing
		[::1|"[" without "]"
		198.51.100.10:0|port 0 is not in 1 to 65535
		198.51.100.10:65536|port 65536 is not in 1 to 65535
		198.51.100.10:99999999999999|is not in 1 to 65535
		198.51.100.10:080|port "080" has leading zeros
		198.51.100.10:8x|"8x" is no port number
		198.51.100.10:-1|"-1" is no port number
		198.51.100.10:+80|"+80" is no port number
		198.51.100.10:http|"http" is no port number
		198.51.100.010:80|"198.51.100.010" is no IPv4 address
		198.51.100:80|"198.51.100" is no IPv4 address
		127.1:80|"127.1" is no IPv4 address
		256.1.1.1:80|"256.1.1.1" is no IPv4 address
		2001:db8::1:80|is an IPv6 address without brackets; put the address in brackets
		[2001:db8::1]80|"80" after "]" does not belong there
		[2001:db8::1]|the port is missing
		[2001:db8::g]:80|[2001:db8::g] is no IPv6 address
		[198.51.100.10]:80|[198.51.100.10] is no IPv6 address
		[fe80::1%eth0]:80|[fe80::1%eth0] has a scope; give a global address without a scope
		198.51.100.10:80/sctp|"/sctp" is no protocol that can be granted
		198.51.100.10:80/|"/" is no protocol that can be granted
		198.51.100.10:80/tcp/udp|"/tcp/udp" is no protocol that can be granted
		198.51.100.10 :80|white space at byte 14 of the destination; remove it
		198.51.100.10:80\t|white space at byte 17 of the destination
		198.51.100.10:80\x01|byte 0x01 at 17 does not belong in a destination
		a.test|the port is missing
		a.test:0|port 0 is not in 1 to 65535
		a.test:65536|port 65536 is not in 1 to 65535
		a.test:080|port "080" has leading zeros
		a.test:80:80|"80:80" is no port number
		a.test:80/sctp|"/sctp" is no protocol that can be granted
		a.test:80\x01|byte 0x01 at 10 does not belong in a destination
		https://a.test|"://" at byte 6 does not belong in a destination; write HOST:PORT alone
	END
	bm grant e1 net "[$(x 100)]:80" --yes
	refused 125 'the destination is longer than any ADDRESS:PORT'
}

# Nothing of these is ever asked for.
case_names() {
	local line name words
	while IFS= read -r line; do
		printf -v name %b "${line%%|*}"
		words=${line#*|}
		bm grant e1 net "$name" --yes
		refused 125 "${words%%; *}" '(rule: a host is a full DNS name of letters, digits and hyphens)' \
			"${words#*; }"
	done <<-'END'
		a.test.:80|a dot at the end of the host name, byte 7; remove it
		a..test:80|an empty label at byte 3 of the host name; remove a dot
		localhost:80|the host name has one label alone; give the full name
		0x7f.0.0.1:80|the last label of the host name, at byte 10, begins with no letter; give an address
		a-.test:80|a label of the host name ends with a hyphen, at byte 2
		a_b.test:80|an underscore (byte 0x5f) at 2 of the host name
		*.test:80|an asterisk (byte 0x2a) at 1 of the host name; write out each host
		a\x01.test:80|byte 0x01 at 2 does not belong in a host name
		b\u00fccher.test:80|byte 0xc3 at 2 of the host name is not ASCII; write an international name
		\u0661:80|byte 0xd9 at 1 of the host name is not ASCII
		a%eth0.test:80|a percent sign (byte 0x25) at 2 of the host name; give a global address
		u@a.test:80|an at sign (byte 0x40) at 2 of the host name; give the host alone
	END
	bm grant e1 net "$(x 64).test:80" --yes
	refused 125 'the label at byte 1 of the host name has 64 bytes, more than 63'
	bm profile show 192.0.2.1:80
	refused 125 'an address is not resolved, and nothing of it is sealed'
}

case_never_sealed() {
	local line
	while IFS= read -r line; do
		bm grant e1 net "${line%%|*}" --yes
		refused 125 "${line%%|*}/tcp is ${line#*|}" '(rule: never sealed); give another address'
		# Saying that a private one is meant opens none of these.
		bm grant e1 net "${line%%|*}" --private --yes
		refused 125 '(rule: never sealed)'
	done <<-'END'
		127.0.0.1:80|a loopback address
		0.0.0.0:80|an unspecified address
		169.254.169.254:80|a cloud metadata address, which hands out credentials
		169.254.1.1:80|a link-local address
		224.0.0.1:80|a multicast address
		255.255.255.255:80|the broadcast address
		240.0.0.1:80|a reserved address
		[::1]:80|the loopback address
		[::]:80|the unspecified address
		[fe80::1]:80|a link-local address
		[ff02::1]:80|a multicast address
		[fd00:ec2::254]:80|a cloud metadata address
	END
	bm grant e1 net '[64:ff9b::7f00:1]:80' --yes
	refused 125 'is a NAT64 address that leads to 127.0.0.1, a loopback address (rule: never sealed)'
	bm grant e1 net '[::ffff:127.0.0.1]:80' --yes
	refused 125 'a loopback address (rule: never sealed)'
	for line in 10.99.0.1 172.16.0.1 192.168.1.1 100.64.0.1 '[fc00::1]'; do
		bm grant e1 net "$line:80" --yes
		refused 125 "$line:80/tcp is a " '(rule: private addresses are allowed one by one)' \
			--private
	done
	bm grant e1 net 203.0.113.1:80 --yes
	turned_down 125 'the host has no route to 203.0.113.1:80/tcp'
}

case_net() {
	bm grant e1 net 10.99.0.1:80 --private --yes
	did 'private   yes: an address of a private network' 'granted: 10.99.0.1:80/tcp'
	bm grant e1 net "$server:8080" --yes
	did "granted: $server:8080/tcp"
	bm grant e1 net "$server:8080/tcp" --yes
	refused 125 'grants this destination already (rule: one-grant)'
	bm exec e1 -- bash -c "cat </dev/tcp/$server/8080"
	did 'hello from 8080'
	bm exec e1 -- bash -c "cat </dev/tcp/$server/8081"
	[[ $code -ne 0 && $err == *'Operation not permitted'* ]] || fail 'the port beside it is open'
	bm show e1
	did "net       10.99.0.1:80/tcp" "net       $server:8080/tcp"
	narrow
	bm revoke e1 --all
	did revoked
	bm exec e1 -- bash -c "cat </dev/tcp/$server/8080"
	[[ $code -ne 0 && $out == '' ]] || fail 'open after it was revoked'
	ungranted
}

case_unconfirmed() {
	bm grant e1 file "$disk/src"
	refused 125 'there is no terminal to ask on (rule: confirmation)' \
		'run it in a terminal, or confirm with --yes'
	bm grant e1 net "$server:8080"
	refused 125 'there is no terminal to ask on (rule: confirmation)'
	ungranted
}

case_asked() {
	local answer
	for answer in n EOF; do
		python terminal "$answer" benchmon grant e1 file "$disk/src"
		ended 1
		printed "path      $disk/src" 'appears   /in/src' 'rights    ro: read only' \
			'Grant this to e1? [y/N] ' 'benchmon: not granted'
	done
	ungranted
	py terminal y benchmon grant e1 file "$disk/src"
	printed 'granted: '
	bm show e1 --format json
	printed '"how":"tty"'
	bm revoke e1 --all
	did revoked
	bm exec e1 -- rmdir /in
	ungranted
}

# Between the question and the answer, what was named is put elsewhere.
case_swapped() {
	mkdir -p "$disk/a/dir" "$disk/b/dir"
	echo a >"$disk/a/dir/file"
	echo b >"$disk/b/dir/file"
	ln -s a "$disk/which"
	# A link on the way: what was opened is granted, wherever it leads by now.
	echo "ln -sfn b '$disk/which'" >"$tmp/swap"
	py terminal "$tmp/swap:y" benchmon grant e1 file "$disk/which/dir"
	printed "path      $disk/a/dir" "granted: $disk/a/dir as /in/dir, ro"
	same b "$(readlink "$disk/which")" 'the link'
	bm exec e1 -- cat /in/dir/file
	did a
	bm revoke e1 --all
	did revoked
	# The object itself moved, and a link in its place: no longer what was shown.
	echo "mv '$disk/a/dir' '$disk/a/old'; ln -s /etc '$disk/a/dir'" >"$tmp/swap"
	python terminal "$tmp/swap:y" benchmon grant e1 file "$disk/a/dir"
	ended 125
	printed 'the object has changed since it was shown (rule: confirmation); grant it again'
	# And its owner.
	echo "chown 1:1 '$disk/b/dir'" >"$tmp/swap"
	python terminal "$tmp/swap:y" benchmon grant e1 file "$disk/b/dir"
	ended 125
	printed 'the object has changed since it was shown (rule: confirmation); grant it again'
	rm -r "$disk/a" "$disk/b" "$disk/which" "$tmp/swap"
	bm exec e1 -- rmdir /in
	ungranted
}

case_revoke_ids() {
	local id
	for id in e1/0 e1/01 e1/ /1 e1/1x e1/-1 e1/99999999999 E1/1 e1/1/1 'e1/ 1' ''; do
		bm revoke -- "$id"
		refused 2 "revoke: '$id' is no grant's id, which is like b1/3"
	done
	bm revoke e1
	refused 2 'revoke: e1 is a Bench: name a grant, as e1/1, or --all'
	bm revoke e1/4000000
	refused 125 'there is no grant e1/4000000; see `benchmon show`'
	bm revoke nobody/1
	refused 125 'there is no Bench nobody; see `benchmon ls`'
	bm revoke nobody --all
	refused 125 'there is no Bench "nobody"; see `benchmon ls`'
	bm revoke e1 --all
	did 'nothing was granted'
}

# A single file is an object, too: its mount point comes and goes with it.
case_file() {
	local id
	bm grant e1 file "$disk/one:/in/deep/one:rw" --yes
	did 'what      file, mode 0644' 'size      4 bytes' 'rights    rw: read and write'
	[[ $out =~ (e1/[0-9]+)\ granted ]]
	id=${BASH_REMATCH[1]}
	bm exec e1 -- sh -c 'cat /in/deep/one; echo two >/in/deep/one; ls -A /in/deep'
	did $'one\none'
	same two "$(<"$disk/one")" 'what the Bench wrote'
	bm exec e1 -- rm /in/deep/one
	[[ $code -ne 0 && -e $disk/one ]] || fail 'the mount point could be removed'
	bm revoke "$id"
	did "$id revoked"
	bm exec e1 -- sh -c 'ls -A /in/deep; cat /in/deep/one; rmdir /in/deep /in'
	[[ $out == '' && $err == *'No such file'* ]] || fail 'the mount point is still there'
	echo one >"$disk/one"
	ungranted
}

# Who stands in a directory when it is revoked stands in nothing.
case_revoked_below() {
	local fd to
	mkfifo "$tmp/said" "$tmp/go"
	grant "$disk/src"
	did granted
	benchmon exec e1 -- sh -c 'cd /in/src; cat file; read go; cat file; cat below/../file; pwd -P;
		ls' <"$tmp/go" >"$tmp/said" 2>&1 &
	exec {to}>"$tmp/go" {fd}<"$tmp/said"
	line_from "$fd" out
	same hello "$out"
	bm revoke e1 --all
	did revoked
	echo go >&"$to"
	exec {to}>&-
	out=$(cat <&"$fd")
	wait $! || :
	[[ $out == *'cat: file: Permission denied'* && $out != *hello* ]] ||
		fail "readable after it was revoked: $out"
	bm events --bench e1 --format json
	printed '"verdict":"deny","hook":"lookup","rule":"revoked"' '"path":"/src"'
	rm "$tmp/said" "$tmp/go"
	bm exec e1 -- rmdir /in
	ungranted
}
