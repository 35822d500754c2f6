# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# A container that learns: what it would be refused is let through and told, and what that comes to as
# grants lets the same work through in a Bench that is enforced.
: "${e2e:?}" "${tmp:?}" "${disk:?}" "${repo:?}"

# shellcheck source=tests/e2e/containers.sh
. "$e2e/containers.sh"

gate=192.0.2.1

# Interfaces that a container comes with: their other end is this machine, where somebody answers.
setup() {
	mkdir -p /sys/fs/cgroup/e2e "$disk/src/lib" "$disk/many" "$disk/out" "$disk/cfg"
	local name
	for name in a b c d e; do
		echo "$name" >"$disk/src/lib/$name.c"
	done
	for name in $(seq 40); do
		echo "$name" >"$disk/many/$name"
	done
	echo all >"$disk/src/Makefile"
	echo setting >"$disk/cfg/one"
	echo other >"$disk/cfg/two"
}

teardown() {
	rmdir /sys/fs/cgroup/e2e
	rm -r "$disk"/{src,many,out,cfg,vol}
}

work='set -e
cat /src/lib/*.c /src/Makefile /many/7 /cfg/one >/out/built
cp /out/built /out/copy
mv /out/copy /out/done
echo hello >/dev/tcp/'$gate'/9090
cat </dev/tcp/'$gate'/9090
echo built'

volumes() {
	bind /src "$disk/src" ro
	bind /many "$disk/many"
	bind /out "$disk/out"
	bind /cfg "$disk/cfg"
	echo .
}

bare='.mounts |= map(select(.destination != "/vol"))'
idle=(/busybox sleep infinity)

# Created and not started, with an interface.
container() { # NAME JQ
	bundle "$1" plain "$2" "${idle[@]}"
	created "$1"
	ip link add e2e-s0 type veth peer name s0 netns "$pid"
	ip address add "$gate/24" dev e2e-s0
	ip link set e2e-s0 up
	nsenter -t "$pid" -n ip address add 192.0.2.2/24 dev s0
	nsenter -t "$pid" -n ip link set s0 up
	nsenter -t "$pid" -n ip link set lo up
	local ready
	exec {ready}< <(exec python3 -B -S -s "$e2e/helpers/serve.py" "$gate" 9090 9091)
	line_from "$ready" _
	there=$!
}

gone_link() {
	[[ ! -e /sys/class/net/e2e-s0 ]]
}

over() { # BENCH NAME
	bm detach "$1"
	did "$1 detached"
	removed "$2"
	kill "$there"
	soon gone "$there"
	soon gone_link
}

case_build() {
	rm -f "$disk"/out/*
	container c3 "$(volumes)"
	bm attach l1 c3 --learn --yes
	did 'l1 attached (ready): LEARNING: not enforced' "l1/1 granted: $disk/vol as /vol"
	started c3
	bm ls
	did 'LEARNING: not enforced'
	narrow
	bm exec l1 -- /bin/bash -c "$work"
	did 'hello from 9090' built
	[[ -s $disk/out/done ]] || fail 'nothing was built'
	bm show l1
	did 'LEARNING   not enforced; would be denied: ' 'denied     0'
	bm why l1 file /vol r
	refused 125 'Bench l1 learns: what no grant gives is let through and told'
	bm events --bench l1
	did 'LEARN (not enforced)'
	bm events --bench l1 --format json
	printed '"verdict":"would-deny"' '"rule":"no-grant"' '"rule":"not-sealed"'
	cp "$tmp/out" "$tmp/json"
	py schema "$tmp/json" "$repo/userspace/audit/event.schema.json"
	rm "$tmp/json"
	bm suggest l1 a1
	did 'LEARNING: not enforced' "benchmon grant a1 file $disk/out:/out:rw" \
		"benchmon grant a1 file $disk/cfg/one:/cfg/one:ro" \
		"benchmon grant a1 file $disk/many/7:/many/7:ro" \
		"benchmon grant a1 net $gate:9090"
	narrow
	[[ $out == *"file $disk/src:/src:ro"* || $out == *"file $disk/src/lib:/src/lib:ro"* ]] ||
		fail 'its sources are not one directory'
	[[ $out != *cfg/two* ]] || fail 'it never used that'
	bm suggest l1 a1 --template "$tmp/template"
	did
	bm suggest l1 a1 --template "$tmp/template"
	refused 125 "$tmp/template is there already"
	jq -c . "$tmp/template" >"$tmp/json"
	py schema "$tmp/json" "$repo/userspace/gatekeeperd/template.schema.json"
	rm "$tmp/template" "$tmp/json"
	over l1 c3
	# It has ended, and what it told is there. A container that comes with nothing, enforced.
	rm "$disk"/out/*
	container c3 "$bare"
	bm attach a1 c3
	did 'nothing is granted'
	started c3
	bm exec a1 -- /bin/bash -c "$work"
	[[ $code -ne 0 && $out != *built* ]] || fail 'it needed nothing'
	bm suggest l1 a1 --apply --yes
	did 'a1/1 granted' 'a1/6 granted'
	bm show a1 --format json
	key denied
	before=$value
	bm exec a1 -- /bin/bash -c "$work"
	did 'hello from 9090' built
	bm show a1 --format json
	key denied
	same "$before" "$value" 'what was denied'
	over a1 c3
}

# Each on a terminal, one by one.
case_asked() {
	container c3 "$(volumes)"
	py terminal y,y,y,y,y benchmon attach l1 c3 --learn
	printed 'LEARNING: what is read and written is told, and not refused' 'LEARNING: not enforced'
	started c3
	bm exec l1 -- /busybox cat /cfg/one /cfg/two
	did 'setting'
	bm suggest l1 --format json
	did '"kind":"file"' "\"source\":\"$disk/cfg/one\"" '"dest":"/cfg/one"' '"rights":"ro"' '"evidence":{'
	over l1 c3
}

# What learning never lets through. $1 says what is tried, and 13 or 1 what must come of it.
probes='use POSIX (); use Socket;
sub say { printf "%s %d\n", $_[0], $_[1] ? 0 : $! + 0 }
my ($null, $none, $at, $type, $attr) = ("/out/null", "none", "/tmp", "tmpfs", "\0" x 72);
say("mknod", syscall(133, $null, 020666, 0x103) == 0);
say("setid", open(my $f, ">", "/out/file") && chmod(04755, "/out/file"));
say("exec", system("/vol/busybox", "true") != -1);
say("mount", syscall(165, $none, $at, $type, 0, 0) == 0);
say("bpf", syscall(321, 0, $attr, 72) >= 0);
say("kallsyms", open(my $k, "<", "/proc/kallsyms") && defined <$k>);
say("trace", syscall(101, 16, 1, 0, 0) == 0);
say("unshare", syscall(272, 0x10000000) == 0);
say("raw", socket(my $r, PF_INET, SOCK_RAW, 1));
socket(my $u, PF_UNIX, SOCK_STREAM, 0);
say("unix", connect($u, sockaddr_un("/vol/socket")));
say("write", open(my $w, ">", "/out/plain"));'

case_walls() {
	local server
	container c3 "$(volumes)"
	cp /bin/busybox "$disk/vol/busybox"
	bm attach l1 c3 --learn --yes
	did
	started c3
	python3 -B -S -s -c 'import signal, socket, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(9); signal.pause()' \
		"$disk/vol/socket" &
	server=$!
	soon test -S "$disk/vol/socket"
	bm exec l1 -- /usr/bin/perl -e "$probes"
	printed 'mknod 13' 'setid 13' 'exec 13' 'mount 1' 'bpf 1' 'unshare 1' 'unix 13' 'write 0'
	[[ $out != *'kallsyms 0'* && $out != *'raw 0'* ]] || fail "$out"
	kill "$server"
	wait "$server" || :
	rm "$disk/vol/socket" "$disk/vol/busybox"
	# Nobody comes in.
	benchmon exec l1 -- /busybox nc -l -p 7070 </dev/null >"$tmp/heard" 2>&1 &
	server=$!
	soon grep -qE ':1B9E 0+:0000 0A' "/proc/$pid/net/tcp" "/proc/$pid/net/tcp6"
	if timeout 3 bash -c ': <"/dev/tcp/192.0.2.2/7070"'; then
		fail 'somebody came in'
	fi
	kill "$server"
	wait "$server" || :
	rm "$tmp/heard"
	bm events --bench l1
	did 'DENY mknod' 'DENY chmod'
	# The table in its network is met first, and counts.
	bm show l1 --format json
	[[ $out =~ \"refused\":\{[^}]*\"nft\":[1-9] ]] || fail 'nobody kept that out'
	over l1 c3
}

# Another Bench is enforced as ever, meanwhile.
case_others() {
	container c3 "$(volumes)"
	bm attach l1 c3 --learn --yes
	did
	started c3
	make_bench e1
	bm grant e1 file "$disk/cfg" --yes
	did
	bm exec e1 -- sh -c 'cat /in/cfg/one; echo x >/in/cfg/one'
	[[ $code -ne 0 && $out == setting ]] || fail 'e1 can write'
	bm exec e1 -- bash -c "cat </dev/tcp/$gate/9090"
	[[ $code -ne 0 && $out == '' ]] || fail 'e1 gets out'
	bm show e1
	[[ $out != *LEARN* ]] || fail 'e1 learns'
	bm exec l1 -- /busybox cat /cfg/one
	did setting
	# Who writes it into the kernel has not the ledger: the next daemon holds that Bench, and no other.
	bm show e1 --format json
	key id
	stop_daemon
	py learns "$value"
	bm ls
	did broken 'LEARNING: not enforced'
	bm exec l1 -- /busybox cat /cfg/one
	did setting
	bm destroy e1
	did
	over l1 c3
}

# Never with a secret, whichever comes first.
case_secret() {
	mkdir -p "$disk/cfg/.ssh"
	echo key >"$disk/cfg/.ssh/id_ed25519"
	container c3 "$(volumes)"
	bm attach l1 c3 --learn --yes
	[[ $out == *'not adopted: /cfg: '* ]] || fail 'a volume that has a secret in it'
	started c3
	empty c3 /cfg
	bm grant l1 file "$disk/cfg/two" --secret --yes
	refused 125 'Bench l1 learns and is not enforced: it never gets a secret' '(rule: never-both)'
	bm attach l2 c3 --learn --yes
	refused 125 'the container is Bench l1 already'
	rm -r "$disk/cfg/.ssh"
	over l1 c3
}

# A daemon that is killed changes nothing; the next one finds it as the ledger has it.
case_killed() {
	container c3 "$(volumes)"
	bm attach l1 c3 --learn --yes
	did
	started c3
	stop_daemon KILL
	in_container c3 /busybox cat /cfg/one
	did setting
	bm show l1
	did 'LEARNING   not enforced' 'state      ready'
	bm exec l1 -- /bin/bash -c "$work"
	did built
	bm ledger show --bench l1 --format json
	did '"event":"attach"' '"learn":true'
	bm revoke l1 --all
	did revoked
	empty c3 /cfg
	over l1 c3
}

# A Bench that sees nothing of the host: by the names that it looked for.
case_not_found() {
	make_bench e1
	bm exec e1 -- cat "$disk/cfg/two"
	ended 1
	bm exec e1 --not-found -- sh -c "cat $disk/cfg/one $disk/no/such || exec ls $disk/many"
	[[ $code -ne 0 ]] || fail 'it found something'
	bm events --bench e1 --format json
	did '"verdict":"none"' '"hook":"not_found"' "$disk/cfg/one" "$disk/no/such"
	[[ $out != *cfg/two* ]] || fail 'nobody had asked about that'
	cp "$tmp/out" "$tmp/json"
	py schema "$tmp/json" "$repo/userspace/audit/event.schema.json"
	rm "$tmp/json"
	bm suggest e1
	did "benchmon grant e1 file $disk/cfg/one:$disk/cfg/one:ro" "benchmon grant e1 file $disk/many:$disk/many:ro"
	[[ $out != *no/such* && $out != *cfg/two* ]] || fail 'it suggests too much'
	bm suggest e1 --apply --yes
	did 'e1/1 granted' 'e1/2 granted'
	bm exec e1 -- cat "$disk/cfg/one" "$disk/many/3"
	did $'setting\n3'
	bm exec e1 -- cat "$disk/cfg/three"
	bm events --bench e1 --format json
	[[ $out != *cfg/three* ]] || fail 'it is told still'
	bm show e1 --format json
	key denied
	same 0 "$value" 'what was denied'
	bm destroy e1
	did
}

# A project as autotools have them, out of its tree: configured, made, checked and installed.
project='set -e
rm -rf /tmp/build; mkdir /tmp/build; cd /tmp/build
sh /project/configure --prefix=/installed
make
make check install
cat /installed/share/project/README'

project_container() { # JQ
	bundle c3 plain "$1" "${idle[@]}"
	created c3
}

case_autotools() {
	local image BENCHMON_ROOTFS=$tmp/mnt
	image=$("$repo/tools/rootfs" work) || fail 'no image to work in'
	mkdir "$tmp/mnt" "$disk/installed"
	mount -o loop,ro "$image" "$tmp/mnt"
	cp -r "$e2e/work/project" "$disk/project"
	project_container "$(bind /project "$disk/project" ro)$(bind /installed "$disk/installed")."
	bm attach l1 c3 --learn --yes
	did 'l1/3 granted'
	started c3
	bm exec l1 -- /bin/bash -c "$project"
	printed 'creating Makefile' 'is configured, made and installed'
	ended 0
	bm suggest l1 a1
	did "benchmon grant a1 file $disk/installed:/installed:rw"
	[[ $out != *" grant a1 file $disk/vol"* && $out != *' net '* ]] || fail 'it never used that'
	bm detach l1
	did
	removed c3
	rm -r "$disk"/installed/*
	project_container "$bare"
	bm attach a1 c3
	did
	started c3
	bm exec a1 -- /bin/bash -c "$project"
	[[ $code -ne 0 ]] || fail 'it needed nothing'
	bm suggest l1 a1 --apply --yes
	did 'a1/1 granted'
	bm exec a1 -- /bin/bash -c "$project"
	ended 0
	printed 'is configured, made and installed'
	[[ -s $disk/installed/bin/program ]] || fail 'nothing was installed'
	bm detach a1
	did
	removed c3
	umount "$tmp/mnt"
	rmdir "$tmp/mnt"
	rm -r "$disk/project" "$disk/installed"
}

# An npm project: its dependency comes from a registry, its build is a script of its own. npm is that of
# this machine, put into the image.
npm='set -e
cd /app
export npm_config_registry=http://'$gate':9092/ npm_config_cache=/tmp/npm npm_config_update_notifier=false
npm install --no-audit --no-fund
npm run build
cat dist/greeting'

npm_registry() { # DIR
	local package=$1/package
	mkdir -p "$package"
	echo '{"name":"greeter","version":"1.0.0","main":"index.js"}' >"$package/package.json"
	echo 'module.exports = (name) => `hello ${name}`;' >"$package/index.js"
	tar czf "$1/greeter-1.0.0.tgz" -C "$1" package
	printf '{"name":"greeter","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"greeter",%s}}}' \
		'"version":"1.0.0","dist":{"tarball":"http://'"$gate"':9092/greeter-1.0.0.tgz"}' >"$1/greeter"
	rm -r "$package"
}

npm_project() { # DIR
	mkdir -p "$1/src"
	echo '{"name":"app","version":"1.0.0","scripts":{"build":"node build.js"},"dependencies":{"greeter":"^1"}}' \
		>"$1/package.json"
	echo 'const fs = require("fs"); fs.mkdirSync("dist", {recursive: true});
fs.writeFileSync("dist/greeting", require("greeter")(fs.readFileSync("src/name", "utf8")));' >"$1/build.js"
	echo npm >"$1/src/name"
}

with_npm() { # NAME: its root file system has it
	local root=$tmp/c/$1/rootfs/usr/local cli
	cli=$(readlink -f "$(command -v npm)") || fail 'npm is missing'
	cp "$(readlink -f "$(command -v node)")" "$root/bin/node"
	mkdir -p "$root/lib/node_modules"
	cp -r "${cli%/bin/npm-cli.js}" "$root/lib/node_modules/npm"
	ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/bin/npm"
}

full_case_npm() {
	local image BENCHMON_ROOTFS=$tmp/mnt registry
	image=$("$repo/tools/rootfs" work) || fail 'no image to work in'
	mkdir "$tmp/mnt" "$disk/registry"
	mount -o loop,ro "$image" "$tmp/mnt"
	npm_registry "$disk/registry"
	npm_project "$disk/app"
	container c3 "$(bind /app "$disk/app")."
	python3 -B -s -m http.server 9092 --bind "$gate" --directory "$disk/registry" </dev/null >"$tmp/http" 2>&1 &
	registry=$!
	with_npm c3
	bm attach l1 c3 --learn --yes
	did 'l1/2 granted'
	started c3
	bm exec l1 -- /bin/bash -c "$npm"
	printed 'hello npm'
	ended 0
	bm suggest l1 a1
	did "benchmon grant a1 file $disk/app:/app:rw" "benchmon grant a1 net $gate:9092"
	over l1 c3
	rm -r "$disk/app"/{dist,node_modules,package-lock.json}
	container c3 "$bare"
	with_npm c3
	bm attach a1 c3
	did
	started c3
	bm suggest l1 a1 --apply --yes
	did 'a1/2 granted'
	bm exec a1 -- /bin/bash -c "$npm"
	printed 'hello npm'
	ended 0
	kill "$registry"
	soon gone "$registry"
	over a1 c3
	umount "$tmp/mnt"
	rmdir "$tmp/mnt"
	rm -r "$disk/app" "$disk/registry" "$tmp/http"
}
