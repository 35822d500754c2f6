# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# Coding agents as npm has them, each in a Bench with one directory of a project to write in and one
# broker: they read a file and edit it by what a stand-in for their provider tells them to do.
: "${e2e:?}" "${repo:?}" "${tmp:?}" "${disk:?}" "${server:?}"

# shellcheck source=tests/e2e/resolver.sh
. "$e2e/resolver.sh"

secret=sk-e2e-Zq7/x+0123456789abcdef
up=$tmp/up

setup() {
	local ready image line
	image=$("$repo/tools/rootfs" agents) || fail 'no image with agents'
	mkdir "$up" "$tmp/mnt" "$disk/project"
	mount -o loop,ro "$image" "$tmp/mnt"
	exec {ready}< <(exec ip netns exec e2e-world python3 -B -S -s "$e2e/helpers/provider.py" \
		"$up" "$server" "$secret" 2>&1)
	echo $! >"$tmp/provider"
	printf 'model.test 5 A %s\n' "$server" >"$tmp/zone"
	resolver_up
	mkdir -m 755 /etc/benchmon/brokers
	mkdir -m 700 /etc/benchmon/credentials
	IFS= read -rt 120 -u "$ready" line
	same ready "$line" 'the provider'
	define_broker anthropic
	define_broker openai
	bm ls
	did
}

teardown() {
	kill "$(<"$tmp/provider")"
	mkdir -p "$state/profiles"
	touch "$state/seal.key"
	resolver_down
	umount "$tmp/mnt"
	rmdir "$tmp/mnt"
	rm -r "$up" "$tmp/provider" "$disk/project"
}

# As it is installed, but for whom it calls.
define_broker() { # NAME
	jq --arg ca "$up/ca.pem" '.upstream = {"host": "model.test"} | .ca = $ca' "$repo/profiles/brokers/$1.json" \
		>"/etc/benchmon/brokers/$1.json"
	(umask 077 && printf '%s\n' "$secret" >"/etc/benchmon/credentials/$1")
}

# Nothing else is granted; the file on the disk is what says that it worked.
works() { # BROKER COMMAND...
	local broker=$1
	shift
	echo 'the colour is red' >"$disk/project/notes.txt"
	make_bench a1 --rootfs "$tmp/mnt"
	bm grant a1 file "$disk/project:/project:rw" --yes
	did 'a1/1 granted'
	bm grant a1 broker "$broker" --yes
	did 'a1/2 granted'
	bm exec a1 -- timeout 280 bash -c 'export HOME=/work PATH=/usr/local/bin:$PATH; cd /project && exec "$@"' _ "$@"
	[[ $code -eq 0 && $out == *'It is done.'* ]] || {
		benchmon events --bench a1
		fail 'it did not get on'
	}
	same 'the colour is blue' "$(<"$disk/project/notes.txt")" 'the file'
	same notes.txt "$(ls -A "$disk/project")" 'what is in the project'
	bm exec a1 -- grep -rlF -e "${secret#sk-e2e-}" /work /etc /tmp /root
	[[ $code -eq 1 && -z $out ]] || fail 'it has the credential'
}

case_messages() {
	works anthropic claude -p 'In /project/notes.txt, red becomes blue' --allowedTools Read,Edit
	bm events --bench a1
	did 'CALL POST /v1/messages 200 of anthropic'
	bm destroy a1
	did
}

# That agent takes the address of a provider from its configuration alone.
case_responses() {
	works openai sh -c 'url=$OPENAI_BASE_URL; exec codex exec --skip-git-repo-check \
		--dangerously-bypass-approvals-and-sandbox -m stand-in -c model_provider=bench -c "$1\"$url\"}" "$2"' _ \
		'model_providers.bench={name="bench",env_key="OPENAI_API_KEY",wire_api="responses",base_url=' \
		'In /project/notes.txt, red becomes blue'
	bm events --bench a1
	did 'CALL POST /v1/responses 200 of openai'
	bm destroy a1
	did
}
