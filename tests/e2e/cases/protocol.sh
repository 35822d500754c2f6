# shellcheck shell=bash disable=SC2016,SC2034,SC2154
# The socket, by whoever speaks another protocol than benchmon does.
: "${e2e:?}" "${tmp:?}" "${disk:?}"

setup() {
	make_bench e1
}

teardown() {
	bm destroy e1
	did
}

case_size() { py protocol size; }
case_malformed() { py protocol malformed; }
case_requests() { py protocol requests; }
case_versions() { py protocol versions; }
case_unknown_keys() { py protocol unknown_keys; }
case_descriptors() { py protocol descriptors; }
case_commands() { py protocol commands; }
case_names() { py protocol names; }
case_sources() { py protocol sources "$disk/object"; }
case_tokens() { py protocol tokens; }
case_ended_bench() { py protocol ended_bench; }
case_hang_up() { py protocol hang_up; }
case_abandoned_create() { py protocol abandoned_create; }
case_abandoned_exec() { py protocol abandoned_exec; }
case_strangers() { py protocol strangers; }
case_insider() { py protocol insider; }

case_crowd() {
	py protocol crowd
	bm ls
	did 'e1    ready'
}

# benchmon, run by one who may not.
case_stranger_cli() {
	local command
	for command in ls 'create x' 'revoke e1/1' 'events'; do
		# shellcheck disable=SC2086
		capture setpriv --reuid 65534 --regid 65534 --clear-groups "$(command -v benchmon)" \
			$command </dev/null
		refused 125 'you may not talk to gatekeeperd (rule: socket); run it as root'
	done
	capture setpriv --reuid 65534 --regid 65534 --clear-groups "$(command -v benchmon)" version
	did 'gatekeeperd  not for you to ask'
}
