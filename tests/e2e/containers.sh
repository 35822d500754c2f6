# shellcheck shell=bash disable=SC2034,SC2154
# Containers that somebody else makes, with crun as it comes: the test's own, never benchmon's.
: "${e2e:?}" "${tmp:?}" "${disk:?}"

runc=(crun --cgroup-manager=cgroupfs)

spec_of() { # KIND FILE: as crun has it
	local options=()
	[[ $1 == plain ]] || options=(--rootless)
	(cd "$tmp" && crun spec "${options[@]}" && mv config.json "$2")
}

bind() { # DEST SOURCE [OPTION...]: of jq, one more mount
	local options='"bind"' option
	for option in "${@:3}"; do
		options+=", \"$option\""
	done
	printf '.mounts += [{destination: "%s", type: "bind", source: "%s", options: [%s]}] | ' \
		"$1" "$2" "$options"
}

# Its rootfs is Debian under a layer of its own.
bundle() { # NAME plain|userns JQ-FILTER COMMAND...
	local dir=$tmp/c/$1
	mkdir -p "$dir"/{rootfs,upper,work}
	# Its root's as Podman would map it: what is made in / is root's own.
	[[ $2 == plain ]] || chown 300000:300000 "$dir/upper"
	mount -t overlay -o "lowerdir=$BENCHMON_ROOTFS,upperdir=$dir/upper,workdir=$dir/work" e2e \
		"$dir/rootfs"
	cp /bin/busybox "$dir/rootfs/busybox"
	configured "$@"
}

# With what is its rootfs already, and a cgroup namespace, as Podman has it; /vol is a directory of the
# host, on a disk.
configured() { # NAME plain|userns JQ-FILTER COMMAND...
	local dir=$tmp/c/$1 spec=$tmp/spec.$2
	mkdir -p "$disk/vol"
	echo secret >"$disk/vol/secret"
	[[ -e $spec ]] || spec_of "$2" "$spec"
	jq --arg name "$1" --arg vol "$disk/vol" --arg kind "$2" '
		def ids: [{containerID: 0, hostID: 300000, size: 65536}];
		.process.terminal = false | .process.args = $ARGS.positional |
		.root.readonly = false | .linux.cgroupsPath = "/e2e/" + $name |
		.linux.namespaces += [{type: "cgroup"}] |
		.mounts += [{destination: "/vol", type: "bind", source: $vol, options: ["bind"]}] |
		if $kind == "userns" then .linux.uidMappings = ids | .linux.gidMappings = ids
		else . end | '"$3" "$spec" --args -- "${@:4}" >"$dir/config.json"
}

created() { # NAME [OPTION...]: leaves its pid in $pid
	local dir=$tmp/c/$1
	# Its streams are the operator's: what it says is in $dir/said.
	"${runc[@]}" "${@:2}" create --bundle "$dir" --pid-file "$dir/pid" "$1" </dev/null \
		>"$dir/said" 2>&1 || fail "crun create: $(<"$dir/said")"
	pid_of "$1"
}

pid_of() { # NAME: into $pid
	slurp "$tmp/c/$1/pid" pid
}

started() { # NAME
	"${runc[@]}" start "$1" || fail "crun start $1"
}

running() { # NAME KIND: holds still
	bundle "$1" "$2" . /busybox sleep infinity
	created "$1"
	started "$1"
}

mounted_back() { # PID: its volume, by root of the host, if it is not there
	[[ -e /proc/$1/root/vol/secret ]] || py mountin "$disk/vol" "$1" /vol
}

in_container() { # NAME COMMAND...: as its operator would
	capture "${runc[@]}" exec "$@" </dev/null
}

it_said() { # NAME: into $out, once it has ended
	soon gone "$pid"
	slurp "$tmp/c/$1/said" out
}

empty() { # NAME DIR...: still there, with nothing in it
	local dir
	for dir in "${@:2}"; do
		in_container "$1" /busybox ls -A "$dir"
		did ''
		same '' "$out" "what is in $dir"
	done
}

removed() { # NAME...
	local name
	for name; do
		"${runc[@]}" delete --force "$name" || fail "crun delete $name"
		umount "$tmp/c/$name/rootfs"
		rm -r "$tmp/c/$name"
	done
	rmdir --ignore-fail-on-non-empty "$tmp/c"
}
