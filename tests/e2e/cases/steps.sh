# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# gatekeeperd dies at each step of everything it does, and the next one finds all in agreement.
: "${e2e:?}" "${tmp:?}" "${disk:?}" "${repo:?}"

# A group has some dozen deaths, of some seconds each; with E2E_FULL some hundred.
patience=${E2E_PATIENCE:-$((${E2E_FULL:+5}400 + 1400))}

# shellcheck source=tests/e2e/containers.sh
. "$e2e/containers.sh"
# shellcheck source=tests/e2e/resolver.sh
. "$e2e/resolver.sh"

setup() {
	mkdir -p /sys/fs/cgroup/e2e "$disk/steps/g/below"
	echo hello >"$disk/steps/g/file"
	echo hello >"$disk/steps/g/below/file"
	running c1 plain
	resolver_up
	define p '{"host":"a.test","protocol":"tcp","port":8080,"why":"x"},{"host":"b.test","protocol":"tcp","port":8080,"why":"x"}'
	define q '{"host":"a.test","protocol":"tcp","port":8080,"why":"x"}'
	printf '%s\n' "a.test 5 A $server" 'b.test 5 A 198.51.100.11' "up.test 5 A $server" >"$tmp/zone"
	mkdir -m 755 /etc/benchmon/brokers
	mkdir -m 700 /etc/benchmon/credentials
	printf '%s' '{"name":"model","description":"d","upstream":{"host":"up.test"},
		"credential":{"header":"x-key"},"allow":[{"method":"GET","path":"/a"}],
		"verify":{"method":"GET","path":"/a"}}' >/etc/benchmon/brokers/model.json
	(umask 077 && echo sk-steps-0123456789 >/etc/benchmon/credentials/model)
	bm profile seal p --yes
	did
}

teardown() {
	removed c1
	rmdir /sys/fs/cgroup/e2e
	resolver_down
	rm -r "$disk"/{steps,vol}
	rm -f "$tmp"/{reached,steps.log}
}

stepped() { # GROUP
	stop_daemon
	python steps "$1" "$disk"
	printf '%s\n' "$out" | sed 's/^/took /'
	[[ $code -eq 0 ]] || fail "$(tail -n 5 "$tmp/steps.log")"
	bm ls
	did 'no Benches'
	rm -f /var/lib/benchmon/ledger-*.jsonl
}

case_make() {
	stepped make
}

case_grant() {
	stepped grant
}

case_ask() {
	stepped ask
}

case_revoke() {
	stepped revoke
}

case_end() {
	stepped end
}

case_programs() {
	stepped programs
}

# Of all steps that there are.
case_reached() {
	py steps reached "$disk"
}
