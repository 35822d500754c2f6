/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ABI between the BPF programs and user space: map keys, map values and the event record.
 *
 * Both sides include this one file. Every struct is padded by hand and never packed: clang
 * writes the members of a packed struct byte by byte, and a hole would let stack bytes into a
 * hash key, which then never matches.
 */
#ifndef BENCHMON_ABI_H
#define BENCHMON_ABI_H

#include <linux/bpf.h>
#include <linux/types.h>

/* Changed with any change below; user space refuses to adopt pins of another version. */
#define BM_ABI_VERSION 12

#define BM_MAX_BENCHES 4096
#define BM_MAX_GRANTS 262144
#define BM_MAX_EXCEPTS 65536
#define BM_MAX_DESTINATIONS 65536
#define BM_MAX_HEARD 4096
#define BM_RING_BYTES (4u << 20)
/* So many events of a Bench at once, and so many more each second; the others are counted. */
#ifndef BM_EVENT_BURST
#define BM_EVENT_BURST 2048
#endif
#define BM_EVENT_RATE 256

/* cgroup v2 trees are rarely deeper than 10; a Bench below this level is refused at attach. */
#define BM_MAX_LEVEL 32
/* Parents looked at above a file. Reaching the limit denies. */
#define BM_MAX_DEPTH 128

/* Rights of a grant on an object. A grant on a host object never has BM_X. */
enum bm_rights {
	BM_R = 1,
	BM_W = 2,
	BM_X = 4,
	/* Not asked for: what is granted is a secret. Nothing of it without the word below. */
	BM_SECRET = 8,
	/* And this alone, of a volume while its Bench learns: r and w are let through and told. */
	BM_LEARN = 16,
};

enum bm_verdict {
	BM_ALLOW,
	BM_DENY,
	BM_WOULD_DENY, /* let through, because the Bench learns */
	BM_NO_VERDICT, /* told of and not decided: what is not there */
	BM_VERDICT_MAX,
};

/* The kernel hook a verdict was given at. Names: userspace/base/names.c. */
enum bm_hook {
	BM_HOOK_FILE_OPEN,
	BM_HOOK_EXEC,
	BM_HOOK_MMAP,
	BM_HOOK_MPROTECT,
	BM_HOOK_CONNECT4,
	BM_HOOK_CONNECT6,
	BM_HOOK_SENDMSG4,
	BM_HOOK_SENDMSG6,
	BM_HOOK_EGRESS,
	BM_HOOK_INGRESS,
	BM_HOOK_ARRIVAL,
	BM_HOOK_PTRACE,
	BM_HOOK_SIGNAL,
	BM_HOOK_SOCKET,
	BM_HOOK_SETSOCKOPT,
	BM_HOOK_RECEIVE,
	BM_HOOK_IOCTL,
	BM_HOOK_LOCK,
	BM_HOOK_FCNTL,
	BM_HOOK_MKNOD,
	BM_HOOK_MKDIR,
	BM_HOOK_RMDIR,
	BM_HOOK_UNLINK,
	BM_HOOK_SYMLINK,
	BM_HOOK_LINK,
	BM_HOOK_RENAME,
	BM_HOOK_TRUNCATE,
	BM_HOOK_CHMOD,
	BM_HOOK_CHOWN,
	BM_HOOK_SETATTR,
	BM_HOOK_SETXATTR,
	BM_HOOK_GETXATTR,
	BM_HOOK_GETATTR,
	BM_HOOK_READLINK,
	BM_HOOK_NOTIFY,
	BM_HOOK_FILE_PERMISSION,
	BM_HOOK_LOOKUP,
	BM_HOOK_IO_URING,
	BM_HOOK_EXPIRY,
	BM_HOOK_PERSONALITY,
	BM_HOOK_CAPABLE,
	BM_HOOK_MOUNT, /* and umount, remount, pivot_root, move_mount, a new file system's options
			*/
	BM_HOOK_USERNS,
	BM_HOOK_DEVICE,
	BM_HOOK_SYSCTL,
	BM_HOOK_TASK, /* limits, priority, scheduling, memory, groups of another process */
	BM_HOOK_IPC,
	BM_HOOK_UNIX,
	BM_HOOK_CLONE,
	BM_HOOK_BPF,
	BM_HOOK_PERF_EVENT,
	BM_HOOK_MODULE,
	BM_HOOK_KEY,
	BM_HOOK_USERFAULTFD,
	BM_HOOK_CORE_DUMP,
	BM_HOOK_SYSLOG,
	BM_HOOK_QUOTA,
	BM_HOOK_BIND,
	BM_HOOK_RECVMSG, /* what came before its destination was taken back */
	BM_HOOK_NOT_FOUND,
	BM_HOOK_MAX,
};

/* Why a verdict is what it is. Names: userspace/base/names.c. */
enum bm_rule {
	BM_RULE_NONE,
	BM_RULE_NO_GRANT, /* the object has no grant in this Bench */
	BM_RULE_RIGHTS,   /* it has one, without the rights asked for */
	BM_RULE_REVOKED,  /* it had one; a tombstone stands in its place */
	BM_RULE_EXPIRED,
	BM_RULE_NOEXEC,        /* execution asked for, the grant is never executable */
	BM_RULE_DEPTH,         /* BM_MAX_DEPTH parents and no object among them */
	BM_RULE_NOT_SEALED,    /* the destination is in no sealed set of this Bench */
	BM_RULE_PACKET,        /* fragment, IP options, routing header, not TCP or UDP */
	BM_RULE_INHERITED_FD,  /* an arrival brought an open fd above 2 to its exec */
	BM_RULE_ARRIVAL,       /* a Bench task reached for an arrival */
	BM_RULE_SOCKET_KIND,   /* a protocol that no sealed set speaks of */
	BM_RULE_SOCKET_OPTION, /* one that sends a packet elsewhere than its destination */
	BM_RULE_EXEC_REFUSED,  /* the kernel's own: a noexec mount, or no x bit */
	BM_RULE_PRIVILEGE,     /* set-id, capability, device node, owner: would be the host's too */
	BM_RULE_HOST_TOOLS,    /* would stall or spy on the host's use of a ro object */
	BM_RULE_IO_URING,      /* a Bench has no rings */
	BM_RULE_NOT_TRACKED,   /* a mapping, watch or FIFO that an expiry could not end by itself */
	BM_RULE_UNKNOWN_BENCH, /* a cgroup program that was told no Bench */
	BM_RULE_EXEC_IMAGE,    /* exec: image, and this is not of the image, or could be made so */
	BM_RULE_EXCEPTED,      /* its grant leaves this name out, or leaves it ro */
	BM_RULE_CAPABILITY,    /* not in the Bench's mask, whatever its container was given */
	BM_RULE_MOUNTS,        /* a Bench changes no mounts */
	BM_RULE_USERNS,        /* a user namespace, and the Bench is not of those that may */
	BM_RULE_DEVICE,        /* another device than null, zero, full, random, tty and terminals */
	BM_RULE_OUTSIDE,       /* a process or socket that is not of this Bench */
	BM_RULE_SHARED,        /* a namespace that the Bench shares with others */
	BM_RULE_KERNEL,        /* kernel surface that no work needs: bpf, perf, modules, keys */
	BM_RULE_CGROUP,        /* would lead out of the Bench's cgroup */
	BM_RULE_HOLDER,        /* pid 1 of a Bench that benchmon made: it holds what the Bench is */
	BM_RULE_TELLS,         /* a file of procfs or sysfs that tells of the host, or changes it */
	BM_RULE_CORE_DUMP,     /* a helper of the host's might read it */
	BM_RULE_LISTEN,        /* a port that is listened on opens and asks nothing itself */
	BM_RULE_NEVER_BOTH, /* a secret in a Bench that ever had egress, or the other way round */
	BM_RULE_LEARN, /* a volume of a Bench that learns; told as what it would be: no grant */
	BM_RULE_MAX,
};

/* What of a Bench is decided otherwise than by default. */
enum bm_bench_flags {
	BM_BENCH_NESTED = 1, /* objects within objects, or excepted names: the nearest decides */
	BM_BENCH_IMAGE = 2,  /* exec: image. Nothing executes but what is in its read-only rootfs */
	BM_BENCH_USERNS = 4, /* --allow-userns: it may make user namespaces */
	BM_BENCH_SHARED_IPC = 8,  /* its IPC namespace is others' too: it has none */
	BM_BENCH_SHARED_PID = 16, /* its pid namespace is others' too */
	BM_BENCH_HOLDER = 32,     /* pid 1 of its pid namespace is the holder */
	BM_BENCH_SHARED_NET = 64, /* its network is others' too: its loopback is not its own */
	/* It has, or had, a listen grant: without it nobody looks for one. In struct bm_cgroup
	   alone. */
	BM_BENCH_LISTENS = 128,
	BM_BENCH_FIRST_USES = 256, /* --first-uses: the first use of each grant is an event */
	/* attach --learn. With it alone BM_LEARN counts, and a destination that is not sealed. */
	BM_BENCH_LEARN = 512,
};

/*
 * CAP_*, as bits: what package managers and builds need. CHOWN, DAC_OVERRIDE, FOWNER, FSETID,
 * KILL, SETGID, SETUID, NET_BIND_SERVICE, SYS_CHROOT, AUDIT_WRITE (su and its like fail without),
 * SETFCAP.
 */
#define BM_CAPABILITIES                                                                            \
	(1ull << 0 | 1ull << 1 | 1ull << 3 | 1ull << 4 | 1ull << 5 | 1ull << 6 | 1ull << 7 |       \
	 1ull << 10 | 1ull << 18 | 1ull << 29 | 1ull << 31)

/*
 * And in a user namespace that the Bench has made itself, where it may: SETPCAP and SYS_ADMIN, for
 * namespaces of the other kinds. Mounts have walls of their own.
 */
#define BM_USERNS_CAPABILITIES (BM_CAPABILITIES | 1ull << 8 | 1ull << 21)

/* benches: cgroup id -> struct bm_bench */
struct bm_bench {
	__u32 id;
	__u32 level;
	/* CLOCK_MONOTONIC ns. A task that started before was there already: never an arrival. */
	__u64 attached_ns;
	__u32 flags;        /* enum bm_bench_flags */
	__u32 userns;       /* inode number of its own user namespace, the host's included */
	__u64 capabilities; /* 1 << CAP_*: what it may use of what its container was given */
	/*
	 * Nobody takes it: for BPF_F_LOCK, by which user space writes into an entry. One that takes
	 * another's place could be missed by who is looking it up, and a Bench without is none.
	 */
	struct bpf_spin_lock lock;
	__u32 slot; /* of its own in bm_config.ever; never 0 */
};

/*
 * What a Bench ever had: of a secret and egress it gets what it uses first, for its life. One word
 * that changes from 0 and never again, by compare and swap alone, of the programs as of user space:
 * of two at once one wins. Both bits, by whomever, are neither: everything else than the one bit
 * asked for denies.
 */
enum bm_ever {
	BM_EVER_SECRET = 1,
	BM_EVER_EGRESS = 2,
};
#define BM_SLOTS (2 * BM_MAX_BENCHES)
/* Benches of which what they do not find is told, at once. */
#define BM_MAX_SEEK 8

/* Most distinct cgroup levels that Benches may lie at; one more is refused at attach. */
#define BM_MAX_LEVELS 8
#define BM_FILTER_WORDS 64

/*
 * What bystanders pay for: read before any map. level_count is 0 while there is no Bench; the
 * filter holds a bit for each Bench's cgroup id, so that most others are told apart at once.
 */
struct bm_config {
	__u32 level_count;
	__u32 level[BM_MAX_LEVELS];
	__u32 abi; /* BM_ABI_VERSION; written and read by user space alone */
	__u64 filter[BM_FILTER_WORDS];
	__u64 next_object; /* user space alone */
	__u32 host_net;    /* inode number of the host's network namespace */
	__u32 pad;
	__u32 seek[BM_MAX_SEEK]; /* their ids, 0: none; read where the programs are attached */
	__u32 ever[BM_SLOTS];    /* enum bm_ever, by struct bm_bench.slot */
	__u64 sent[BM_SLOTS];    /* bytes of IP packets that left a Bench's network, by the same */
};

/*
 * ledger: where the ledger of user space ends, one entry under 0. No program reads it: it is kept
 * where whoever can change a file can't.
 */
struct bm_ledger_end {
	__u64 n; /* of the last line; 0: none yet */
	__u8 hash[32];
};

/*
 * known: what was pinned by whom had loaded it, by path below the pins' directory; user space
 * alone. Of a program its tag (the kernel's digest of its instructions), of a map its id, and under
 * BM_KNOWN_BUILD a digest of the object that all is of.
 */
#define BM_KNOWN_PIN 40
#define BM_KNOWN_BUILD "build"
#define BM_MAX_KNOWN 512
struct bm_known_key {
	char pin[BM_KNOWN_PIN]; /* padded with zeros */
};

struct bm_known {
	__u64 what;
	__u32 where; /* of a program: the BTF id of what it is attached to */
	__u32 pad;
};

/* cgroups: cgroup storage of the Bench's cgroup; what its cgroup programs know of it. */
struct bm_cgroup {
	__u32 bench; /* 0 until user space has set it: deny */
	__u32 flags; /* enum bm_bench_flags */
	__u32 slot;  /* struct bm_bench.slot */
	__u32 pad;
};

/* objects: inode storage. An id is global and never used twice. */
struct bm_object {
	__u64 id;
};

/* grants: the one table that decides about files. */
struct bm_grant_key {
	__u32 bench;
	__u32 pad;
	__u64 object;
};

/* Rights 0 is a tombstone: revoked, and not yet carried through. */
struct bm_grant {
	__u32 rights;
	__u32 grant;     /* 0: one of the Bench's own objects */
	__u64 expiry_ns; /* CLOCK_BOOTTIME; 0: none */
};

/*
 * excepts: names that a grant leaves out, by the directory they are in, so that what is put under
 * such a name later is left out too. A longer name than fits is never one. The directories on the
 * way to such a name have their names kept: all rights are left, and no other may take their place.
 */
#define BM_EXCEPT_NAME 72
#define BM_EXCEPT_NAME_MAX 63
struct bm_except_key {
	__u32 bench;
	__u32 pad;
	__u64 object;              /* the directory */
	char name[BM_EXCEPT_NAME]; /* padded with zeros */
};

struct bm_except {
	__u32 rights; /* what is left of the grant's: 0, BM_R, or BM_R | BM_W for a kept name */
	__u32 grant;
};

/*
 * tells: what of procfs and sysfs a Bench may read, component by component from the file system's
 * root on. What is not there tells of the host. A longer name than fits is never there.
 */
#define BM_TELLS_NAME 36
#define BM_MAX_TELLS 512
enum bm_tells_node {
	BM_TELLS_PROC = 1,
	BM_TELLS_SYSFS = 2,
	BM_TELLS_FREE = 16, /* the first of those that user space numbers */
};

enum bm_tells_kind {
	BM_TELLS_EXACT, /* it, and for a directory the list of what is in it */
	BM_TELLS_BELOW, /* and all below, but for names that are BM_TELLS_NEVER in it */
	BM_TELLS_NEVER,
};

struct bm_tells_key {
	__u32 parent;
	char name[BM_TELLS_NAME]; /* padded with zeros */
};

struct bm_tells {
	__u32 node;
	__u32 kind;
};

/* doors: socket storage of the one socket outside that a Bench may connect to, the daemon's. */
struct bm_door {
	__u32 bench; /* whose: no other gets through */
	__u32 pad;
};

/* The pool of the links' own IPv6 addresses is fd62:656e:6368::/48; how it begins. */
#define BM_POOL6_FIRST 0xfd
#define BM_POOL6_SECOND 0x62

/*
 * 127.98.109.0/24: where brokers listen, in the network of the Bench itself. Of its loopback these
 * addresses are not its own: they are destinations like others, in `destinations` or refused. What
 * a connection is opened to has to be an endpoint besides: the very socket that a grant was made
 * for.
 */
#define BM_ENDPOINT_0 127
#define BM_ENDPOINT_1 98
#define BM_ENDPOINT_2 109

/* endpoints: storage of the listening socket, which user space sets through its descriptor. */
struct bm_endpoint {
	__u32 bench;
	__u32 grant;
};

/* carried: the files that an arrival brought as its stdin, stdout and stderr. */
struct bm_carried_key {
	__u32 bench;
	__u32 device;
	__u64 inode;
};
#define BM_MAX_CARRIED 4096

/* What the iterator `strangers` tells of: a socket of a Bench's process that no wall would meet. */
struct bm_stranger {
	__u32 bench;
	__u32 pid; /* tgid, initial namespace */
	__u32 family;
	__u32 pad;
};

/* And the iterator `socket_cgroups`: a socket of that cgroup, which is the Bench's or below it. */
struct bm_socket_cgroup {
	__u32 bench;
	__u32 pad;
	__u64 id;
};

/* uses: the grants of which the first use is told of already. A grant has one, of however many
 * objects and destinations it is. */
struct bm_use_key {
	__u32 bench;
	__u32 grant;
};

/* Whose port it is. In both the address is the other end's. */
enum bm_side {
	BM_SIDE_OUT,    /* the other end's: what the Bench may reach */
	BM_SIDE_LISTEN, /* the Bench's own: who may open connections to it */
};

/* destinations: the sealed set of each Bench. IPv4 as ::ffff:a.b.c.d, network byte order. */
struct bm_dest_key {
	__u32 bench;
	__u16 port;    /* network byte order */
	__u8 protocol; /* IPPROTO_TCP or IPPROTO_UDP */
	__u8 side;     /* enum bm_side */
	__u8 address[16];
};

/*
 * heard: when a datagram last came to a port that is listened on, CLOCK_BOOTTIME ns. UDP has no
 * SYN: only who has asked is answered. Written by the programs alone.
 */
struct bm_heard_key {
	__u32 bench;
	__u16 local; /* network byte order, both */
	__u16 other;
	__u8 address[16];
};

struct bm_dest {
	__u32 grant;
	__u32 closing;   /* revoked: nothing passes but the resets that tell the other end */
	__u64 expiry_ns; /* CLOCK_BOOTTIME; 0: none */
};

/*
 * asked: what somebody asks about, one entry under 0, and what the programs' own functions say of
 * it (why.bpf.c). Only a call with the cookie is about it, which nobody else knows.
 */
struct bm_asked {
	__u64 cookie; /* 0: nothing is asked */
	__u64 cgroup; /* the Bench's, by its id */
	__u32 wanted; /* enum bm_rights, of a file; 0: it is about to */
	__u32 hook;   /* the answer: enum bm_hook, at which this is said */
	__u32 rule;   /* enum bm_rule */
	__u32 grant;  /* by which it is said; 0: of its own objects, or by none */
	__u64 object; /* 0: none found */
	__u32 answered;
	__u32 within;         /* it is the Bench's own loopback */
	struct bm_cgroup own; /* what the programs of its cgroup know of it */
	struct bm_dest_key to;
};

/* stats: bench id -> counters, the truth about what was decided. */
struct bm_stats {
	__u64 seq;                                /* sequence number of the last event */
	__u64 lost;                               /* events that were counted and not delivered */
	__u64 put;                                /* since all of its events had been read */
	__u64 end;                                /* ring position behind the last of them */
	__u64 spent;                              /* of BM_EVENT_BURST, and not given back yet */
	__u64 given_ns;                           /* when some was given back */
	__u64 count[BM_HOOK_MAX][BM_VERDICT_MAX]; /* BM_ALLOW: arrivals and first uses */
};

#define BM_COMM_LEN 16
#define BM_NAME_LEN 48
#define BM_NAMES 12
#define BM_EXE_NAMES 5

/*
 * A file: names[0] is the last component, names[1] its parent, and so on to the fs root. With
 * BM_RULE_EXEC_REFUSED or BM_HOOK_NOT_FOUND name_count is 0 and names one string, the path as
 * given. Memory without a file has neither names nor an inode.
 */
struct bm_event_file {
	__u64 inode;
	__u32 device; /* kernel encoding: major << 20 | minor */
	__u32 wanted; /* enum bm_rights asked for */
	__u64 object; /* 0: none found */
	__u32 grant;
	__u16 name_count;
	__u16 truncated; /* more parents than BM_NAMES */
	char names[BM_NAMES][BM_NAME_LEN];
};

struct bm_event_net {
	__u8 address[16];
	__u16 port; /* network byte order */
	__u8 protocol;
	__u8 pad;
	__u32 grant; /* of a first use */
};

struct bm_event_socket {
	__u32 family;
	__u32 type;
	__u32 protocol;
	__u32 level; /* setsockopt: with option */
	__u32 option;
	__u32 pad;
};

struct bm_event_arrival {
	__u32 fd;      /* the fd that refused the exec, when denied */
	__u32 mode[3]; /* st_mode of fds 0 to 2, 0 when closed: recorded when allowed */
};

struct bm_event_task {
	__u32 target; /* pid, initial namespace */
	__u32 pad;
};

/*
 * What is no file, task or socket: a capability's number, a command of bpf(2), a device as
 * major << 20 | minor, the name of a module, of a sysctl.
 */
struct bm_event_subject {
	__u32 number;
	__u32 access; /* device: BPF_DEVCG_ACC_* */
	char name[BM_NAME_LEN];
};

struct bm_event {
	__u64 time_ns; /* CLOCK_BOOTTIME */
	__u64 seq;
	__u32 bench;
	__u32 hook;    /* enum bm_hook; says which member of the union holds */
	__u32 verdict; /* enum bm_verdict */
	__u32 rule;    /* enum bm_rule */
	__u32 pid;     /* tgid, initial namespace; 0 at packets: nobody's context */
	__u32 tid;
	__u32 uid;   /* initial user namespace */
	__s32 error; /* errno the caller got, 0 when allowed or dropped */
	char comm[BM_COMM_LEN];
	__u32 inside; /* pid, in its own pid namespace */
	__u32 parent; /* pid, initial namespace */
	char parent_comm[BM_COMM_LEN];
	__u32 exe_count; /* names of what it executes, as in struct bm_event_file */
	__u32 exe_truncated;
	char exe[BM_EXE_NAMES][BM_NAME_LEN];
	union {
		struct bm_event_file file;
		struct bm_event_net net;
		struct bm_event_arrival arrival;
		struct bm_event_task task;
		struct bm_event_socket socket;
		struct bm_event_subject subject;
	};
};

/* What a task is to its Bench; task storage. */
enum bm_task_state {
	BM_TASK_UNKNOWN,
	BM_TASK_ARRIVAL,  /* entered from outside and has not executed the payload yet */
	BM_TASK_RESIDENT, /* payload: never an arrival again */
};

#define BM_TASK_MAPPED 4

struct bm_task {
	__u32 state;
	__u32 bench;    /* whose; a mark that outlives its Bench counts for no other */
	__u32 recorded; /* an exec was refused by file_open and that is recorded */
	__u32 holder;   /* pid 1 of a Bench that benchmon made */
	/* Of a thread group's leader: objects with an expiry that the process has mapped, or 0. */
	__u64 mapped[BM_TASK_MAPPED];
};

_Static_assert(sizeof(struct bm_bench) == 40, "map value");
_Static_assert(sizeof(struct bm_config) ==
		       56 + 8 * BM_FILTER_WORDS + 4 * BM_MAX_SEEK + 12 * BM_SLOTS,
	       "global variable");
_Static_assert(sizeof(struct bm_known_key) == BM_KNOWN_PIN, "map key");
_Static_assert(sizeof(struct bm_known) == 16, "map value");
_Static_assert(sizeof(struct bm_cgroup) == 16, "map value");
_Static_assert(sizeof(struct bm_object) == 8, "map value");
_Static_assert(sizeof(struct bm_grant_key) == 16, "map key");
_Static_assert(sizeof(struct bm_grant) == 16, "map value");
_Static_assert(sizeof(struct bm_except_key) == 16 + BM_EXCEPT_NAME, "map key");
_Static_assert(sizeof(struct bm_except) == 8, "map value");
_Static_assert(sizeof(struct bm_tells_key) == 4 + BM_TELLS_NAME, "map key");
_Static_assert(sizeof(struct bm_tells) == 8, "map value");
_Static_assert(sizeof(struct bm_door) == 8, "map value");
_Static_assert(sizeof(struct bm_carried_key) == 16, "map key");
_Static_assert(sizeof(struct bm_endpoint) == 8, "map value");
_Static_assert(sizeof(struct bm_stranger) == 16, "record");
_Static_assert(sizeof(struct bm_socket_cgroup) == 16, "record");
_Static_assert(sizeof(struct bm_dest_key) == 24, "map key");
_Static_assert(sizeof(struct bm_heard_key) == 24, "map key");
_Static_assert(sizeof(struct bm_use_key) == 8, "map key");
_Static_assert(sizeof(struct bm_dest) == 16, "map value");
_Static_assert(sizeof(struct bm_asked) == 88, "map value");
_Static_assert(sizeof(struct bm_stats) == 48 + BM_HOOK_MAX * BM_VERDICT_MAX * 8, "map value");
_Static_assert(sizeof(struct bm_event_net) == 24, "event");
_Static_assert(sizeof(struct bm_event_file) == 32 + BM_NAMES * BM_NAME_LEN, "event");
_Static_assert(sizeof(struct bm_event) ==
		       96 + BM_EXE_NAMES * BM_NAME_LEN + sizeof(struct bm_event_file),
	       "event");
_Static_assert(sizeof(struct bm_task) == 16 + 8 * BM_TASK_MAPPED, "map value");

#endif
