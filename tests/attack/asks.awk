# What `why` can be asked about when a batch has run at a stage, and what came of it: reads `results` (ID
# STATUS ...), the tables, and as the last file the `batch` (ID PROBE ARGS...). Prints for each probe of a
# right on one path, or of one destination
#
#   VERDICT RULE file|net TARGET RIGHTS
#
# (RULE of the event that the table wants, "-" for none), and of each other that was denied and recorded
#
#   HOOK RULE last ID PROBE ARGS...
BEGIN {
	while ((getline line < results) > 0) {
		split(line, word, " ")
		status[word[1]] = word[2]
	}
	group_of("r", "thread fork vfork open32 stat lstat fstat statx readlink getxattr listxattr getdents")
	group_of("w", "truncate ftruncate chmod fchmod fchmodat2 chown fchown utimes futimens setxattr fsetxattr " \
		      "removexattr setacl")
	group_of("make", "node bind mkdir symlink creat unlink rmdir")
	group_of("x", "execve execveat fexec opathexec vforkexec execve32 map map32")
	split("w:w append:w trunc:w rw:rw neither:rw rtrunc:rw creat:make new:make rcreat:make tmp:w " \
	      "nonblock:r dir:r r:r :r", list, " ")
	for (i in list) {
		split(list[i], pair, ":")
		mode[pair[1]] = pair[2]
	}
}

FILENAME != batch {
	if ($0 !~ /^[ \t]*(#|$)/) {
		split($0, column, /[ \t]*\|[ \t]*/)
		event["d" NR] = column[5]
	}
	next
}
{ print_of($1, asked($2, $3, $4, $5)) }

function group_of(rights, probes,    list, i) {
	split(probes, list, " ")
	for (i in list)
		usual[list[i]] = rights
}

function address(host) {
	return host ~ /:/ ? "[" host "]" : host
}

# "" where the probe is about more, or less, than that.
function asked(probe, one, two, three) {
	if (probe == "tcp" && three !~ /device|bound/)
		return "net " address(one) ":" two " -"
	if (probe == "udp" || probe == "udpc")
		return "net " address(one) ":" two "/udp -"
	if (probe == "openat" || probe == "chdir" || probe == "fstatat")
		return file(one "/" two, "r")
	if (probe == "unlinkat")
		return file(one "/" two, "make")
	if (probe == "fchmodat")
		return file(one "/" two, "w")
	if (probe == "named")
		return file(two, "r")
	if (probe ~ /^(open|openat2|fopen|reopen)$/)
		return two in mode ? file(one, mode[two]) : ""
	return probe in usual ? file(one, usual[probe]) : ""
}

# A name is made, or removed, by w of its directory. Who asks is in no process of the Bench.
function file(path, rights) {
	if (path !~ /^\// || path ~ /^\/proc\/(self|thread-self|[0-9]+\/(root|cwd|exe|fd|ns|map_files))/)
		return ""
	if (rights == "make") {
		sub(/\/[^\/]*$/, "", path)
		rights = "w"
	}
	return "file " (path == "" ? "/" : path) " " rights
}

function base(path) {
	sub(/.*\//, "", path)
	return path
}

# word 1, 2 or 3 of the event that is wanted of a probe.
function wanted(id, which,    count) {
	if (id !~ /^d/)
		return "-"
	count = split(event[id], words, /[ \t]+/)
	return count == 3 ? words[which] : "-"
}

function verdict_of(state) {
	if (state == "0")
		return "allow"
	return state == "1" || state == "13" || state == "30" ? "deny" : ""
}

function print_of(id, question,    hook, rule, name, verdict, target, executes) {
	hook = wanted(id, 1)
	rule = wanted(id, 2)
	name = wanted(id, 3)
	verdict = verdict_of(status[id])
	target = question
	sub(/^[^ ]+ /, "", target)
	sub(/ [^ ]+$/, "", target)
	executes = question ~ /^file .* x$/
	# What an interpreter, or a bit of the mode, was refused for; what asks for a capability too.
	if (executes && name != "-" && base(name) != base(target))
		question = ""
	if (rule ~ /^(host-tools|socket-option|socket-kind)$/ || (rule == "privilege" && hook != "file_open"))
		question = ""
	# A device is asked for beside the name that leads to it.
	if (hook == "device")
		question = ""
	# Who listens on the Bench's own loopback is asked of each packet.
	if (question ~ /^net/ && rule == "outside")
		question = ""
	if (question ~ /^file/ && !executes && verdict == "deny" && hook == "-" && status[id] != "30")
		question = ""
	if (question != "" && verdict != "")
		print verdict, rule, question
	# But of what makes a name, which is there since it was made where it was granted.
	else if (verdict == "deny" && hook != "-" && question == "" && $2 !~ /^(node|setid)$/)
		print hook, rule, "last", $0
}
