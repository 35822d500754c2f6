# Of a batch that has run at a stage: what `why` can be asked about, and what came of it.
# Reads `results` (ID STATUS ...) and the tables; then the batch (ID PROBE ARGS), and prints
#   allow|deny RULE KIND TARGET RIGHTS PROBE ARGS...
# RULE is that of the event which the table wants, "-" where it wants none. A probe that asks for more
# than a right on a path, or of which the name has gone or come meanwhile, is not among them; those
# with an event are printed as
#   last HOOK RULE - - PROBE ARGS...
BEGIN {
	while ((getline line < results) > 0) {
		split(line, word, " ")
		status[word[1]] = word[2]
	}
	split("open openat2 fopen reopen thread fork vfork open32 openat32 stat lstat fstat statx readlink " \
	      "getxattr listxattr getdents", list, " ")
	for (i in list)
		reads[list[i]] = 1
	split("truncate ftruncate chmod fchmod chown fchown utimes futimens setxattr fsetxattr removexattr " \
	      "setacl", list, " ")
	for (i in list)
		writes[list[i]] = 1
	split("node bind mkdir symlink creat", list, " ")
	for (i in list)
		makes[list[i]] = 1
	split("execve execveat fexec opathexec vforkexec execve32 map map32", list, " ")
	for (i in list)
		executes[list[i]] = 1
	mode["w"] = mode["append"] = mode["trunc"] = "w"
	mode["rw"] = mode["neither"] = mode["rtrunc"] = "rw"
	mode["creat"] = mode["new"] = mode["tmp"] = mode["rcreat"] = "make"
	mode["nonblock"] = mode["dir"] = mode[""] = mode["empty"] = "r"
}
FILENAME != batch {
	if ($0 ~ /^[ \t]*(#|$)/)
		next
	split($0, column, /[ \t]*\|[ \t]*/)
	if (column[1] == group)
		event["d" FNR + before] = column[5]
	next
}
{ ask($1, $2, $3, $4) }
FNR == 1 { }

function dirname(path) {
	sub(/\/[^\/]*$/, "", path)
	return path == "" ? "/" : path
}

function rights_of(probe, argument) {
	if (probe in reads)
		return probe ~ /open$|open2$|open32$/ ? mode[argument] : "r"
	if (probe in writes)
		return "w"
	if (probe in makes)
		return "make"
	return probe in executes ? "x" : ""
}

# EACCES, EPERM, EROFS: refused. Worked: allowed. Anything else is about something else.
function verdict_of(id) {
	if (!(id in status))
		return ""
	if (status[id] == 0)
		return "allow"
	return status[id] ~ /^(1|13|30)$/ ? "deny" : ""
}
