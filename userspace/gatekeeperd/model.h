/* SPDX-License-Identifier: GPL-2.0-only */
/* What the daemon knows: Benches and their grants, as the ledger has them. */
#ifndef BENCHMON_MODEL_H
#define BENCHMON_MODEL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "audit/order.h"
#include "base/json.h"
#include "base/names.h"
#include "bench/cgroup.h"
#include "bench/limits.h"
#include "bench/target.h"
#include "bench/userns.h"
#include "gatekeeperd/backoff.h"
#include "gatekeeperd/bucket.h"
#include "gatekeeperd/places.h"
#include "network/address.h"
#include "policy/seal.h"

enum grant_kind { GRANT_FILE, GRANT_NET, GRANT_LISTEN, GRANT_BROKER, GRANT_KIND_MAX };
/* Data can leave by it, also to those who only ever ask: never beside a secret (the fourth rule).
 */
static inline bool grant_kind_is_egress(enum grant_kind kind)
{
	return kind == GRANT_NET || kind == GRANT_LISTEN || kind == GRANT_BROKER;
}
enum bench_origin { ORIGIN_CREATED, ORIGIN_ATTACHED, ORIGIN_MAX };
/* BROKEN: found at a restart with some of its enforcement missing; frozen. */
enum bench_state { BENCH_MAKING, BENCH_READY, BENCH_BROKEN, BENCH_STATE_MAX };
/* What of the Bench's own executes. */
enum bench_exec { EXEC_OWN, EXEC_IMAGE, EXEC_MAX };

#define DEST_LEN 256
#define GRANT_MOUNTS 4

#define EXCEPT_MAX 64
#define EXCEPT_DEPTH 8
#define EXCEPT_LEN 256

/* "a/b": b in the directory a of what is granted; the objects are those directories, outermost
 * first. */
struct except {
	char name[EXCEPT_LEN];
	bool readable;
	unsigned depth; /* of the name, and how many objects there are */
	uint64_t object[EXCEPT_DEPTH];
};

struct grant_dest {
	struct bm_destination to;
	int64_t until; /* seconds of CLOCK_REALTIME, when it ends before its grant does; 0 */
};

struct grant_host {
	char name[BM_HOSTNAME_LEN]; /* "": an address that was given as such */
	struct grant_dest *list;
	size_t count;
	bool revoked; /* this one alone */
};

/* Where one of its destinations stands. */
struct grant_place {
	uint32_t host, dest;
};

struct grant_hosts {
	struct grant_host *list;
	size_t count;
	struct grant_place *places; /* of all of them, by destination (destinations.c) */
	size_t place_count;
};

struct grant {
	struct grant *next;
	uint32_t number;
	enum grant_kind kind;
	char created[40];
	uint64_t expiry_ns;  /* CLOCK_BOOTTIME, as the kernel side has it; 0: none */
	uint64_t expires_ns; /* the same of CLOCK_REALTIME, for people */
	uint32_t confirmed_uid;
	char confirmed_how[6]; /* tty, yes */
	bool with_secret;      /* confirmed beside one, or as one beside a broker */
	bool report;           /* on_revoke: what maps it is told and lives */
	uint32_t ask;          /* the number of the request that it answers; 0: of none */
	/* file */
	char *source, *dest; /* NULL but for these */
	bool writable, directory, idmap;
	bool over;      /* mounted over itself, within another grant's destination */
	bool closed;    /* revoked, and its tombstone stays: it lies in what is granted */
	bool adopted;   /* a volume: its mount point was there before */
	bool unscanned; /* it was not searched for secrets to its end */
	bool secret;    /* what is granted is, or has in it, what must never leave */
	uint64_t object, device, inode;
	/* Ids of its mounts when they were taken away: what is held through them, was granted. */
	uint64_t mounts[GRANT_MOUNTS];
	struct except *excepts;
	size_t except_count;
	/* net */
	char *profile;                 /* NULL: one address */
	char *seal;                    /* what was granted of it */
	int64_t seal_expiry;           /* seconds of CLOCK_REALTIME; 0: none */
	struct grant_hosts hosts;      /* listen: one without a name, whose addresses may come in */
	struct grant_broker *broker;   /* broker.h; its hosts are the endpoint */
	struct grant_hosts next_hosts; /* in the midst of a refresh: both are the ledger's */
};

struct bench {
	struct bench *next, *next_id, *next_name; /* of all; and of those with the same hash */
	char name[BM_BENCH_NAME_LEN];
	uint32_t id;
	uid_t owner;   /* who made or attached it: nobody else but root sees it */
	uid_t agent;   /* who asked for it, and runs things in it; BENCH_NO_AGENT */
	uint32_t slot; /* of the host id ranges, created ones */
	enum bench_origin origin;
	enum bench_state state;
	enum bench_exec exec;
	char container[256];            /* as it was named at attach */
	pid_t pid;                      /* its init */
	uint64_t pid_start;             /* start time of pid, against a reused number */
	struct bm_target target;        /* held while its init lives */
	uint64_t namespaces[BM_NS_MAX]; /* their numbers, as the ledger has them */
	uint32_t shared;                /* 1 << BM_NS_*: others outside of it were in those too */
	int net;                        /* its network, where shared: that outlives its init */
	struct bm_id_maps maps;         /* of the grant before: most often of the next, too */
	bool userns;                    /* it may make user namespaces */
	bool ends;                      /* ending.c: it takes no grant and no execution any more */
	bool halted;                    /* and was frozen for that */
	bool tearing;                   /* its grants end with it */
	bool frozen;                    /* by an operator, until thawed */
	unsigned freezings;             /* that wait until it stands still: freeze.h */
	struct bm_limits limits;        /* created ones */
	int64_t seconds;                /* it may live, once it is ready; 0: no end */
	uint64_t deadline_ns;           /* CLOCK_BOOTTIME; when it is destroyed, 0: never */
	struct backoff overdue;         /* of destroying it */
	struct bm_cgroup_ref cgroup;
	char created[40];
	uint32_t last_grant;          /* the highest number ever used */
	uint32_t ever;                /* rule_four.h: enum way, of all it ever had */
	uint32_t last_ask;            /* the same of what was asked for */
	struct bucket asks_rate;      /* of what it asks for itself */
	bool begun;                   /* the ledger has its beginning, so it needs an end */
	bool walled;                  /* table inet benchmon in its network is ours */
	bool linked;                  /* has a veth pair of ours */
	bool named;                   /* and an /etc/hosts */
	bool told;                    /* and an /etc/benchmon.env */
	struct places places;         /* its mounts, once something in them was denied */
	bool placed;                  /* that was tried */
	struct bm_order events;       /* of its own, in the order of their numbers */
	bool resumed;                 /* what was told of them before this daemon is known */
	uint64_t settling;            /* streams.c: up to this number, just now */
	bool stirred;                 /* some came since it was last seen that all are told */
	struct json_object *detached; /* its volumes, as the ledger has them; NULL */
	struct json_object
		*standing; /* record.h: what the next file of the ledger says again, texts */
	struct grant *grants;
	size_t grant_count;
	size_t expiring;       /* of these */
	struct grant *revoked; /* file grants of which something may still be held */
	bool recalling;        /* something is held of what is not granted */
	struct backoff review; /* of looking whether that is still so */
	struct search *search; /* search.h: for what it holds; NULL: none goes on */
	struct backoff ending; /* of carrying a revocation through */
	/* Of a grant that the next lines of the ledger are about, while it is read. */
	uint32_t announced_grant;
	struct grant_hosts announced;
	struct grant *closed; /* revoked ones whose tombstone and exceptions stay */
	/* For its receipt (receipt.h). */
	struct json_object *history; /* grants that have ended, the newest of them; NULL */
	size_t history_bytes;
	uint64_t history_left; /* older ones */
	uint64_t executions;
	struct json_object *outputs; /* by grant id; NULL */
	struct json_object *denials; /* NULL: not known */
};

#define BENCH_NO_AGENT ((uid_t)-1)

/* Who asks from outside, and how often. */
#define ASKERS_MAX 64
struct asker {
	uid_t uid;
	struct bucket rate;
};
/* A line of the ledger, and an entry of the kernel's tables, names its Bench. */
#define MODEL_BUCKETS 1024

struct model {
	struct bench *benches, *last; /* in the order of their ids */
	struct bench *by_id[MODEL_BUCKETS], *by_name[MODEL_BUCKETS];
	uint32_t last_bench;      /* the highest id ever used */
	struct carrier *carriers; /* carriers.h */
	size_t carrier_count;
	uint32_t last_carrier;
	uint64_t carrier_changes; /* so many were added since the start */
	struct ask *asks;         /* asks.h; the oldest first */
	uint32_t last_ask;        /* the highest number ever used of those for a Bench itself */
	struct asker askers[ASKERS_MAX];
};

const char *grant_kind_name(enum grant_kind kind);
const char *bench_origin_name(enum bench_origin origin);
const char *bench_state_name(enum bench_state state);
const char *bench_exec_name(enum bench_exec exec);
int grant_kind_parse(const char *name, enum grant_kind *ret);
int bench_origin_parse(const char *name, enum bench_origin *ret);
/* NULL is the default. */
int bench_exec_parse(const char *name, enum bench_exec *ret);
/* Of struct bm_bench, as the model has it. */
uint32_t bench_flags(const struct bench *bench);
/* The namespaces that it shares, by name; NULL are none. -EBADMSG. */
struct json_object *bench_shared_to_json(const struct bench *bench);
int bench_shared_parse(struct json_object *list, uint32_t *ret);

struct bench *model_find(struct model *model, const char *name);
struct bench *model_find_id(struct model *model, uint32_t id);
/* Root has all, everybody else what is theirs. */
static inline bool bench_is_of(const struct bench *bench, uid_t uid)
{
	return uid == 0 || bench->owner == uid;
}
/* The same as model_find(), and for who has not this one: there is none of that name. */
struct bench *model_find_of(struct model *model, const char *name, uid_t uid);
/* A new Bench in the model, or NULL when out of memory. */
struct bench *model_add(struct model *model, const char *name, uint32_t id);
void model_remove(struct model *model, struct bench *bench);
/* The lowest id range that no Bench uses; -ENOSPC. */
int model_free_slot(const struct model *model, uint32_t *ret_slot);
/* The first of b1, b2 ... that is free. */
void model_free_name(struct model *model, char ret_name[BM_BENCH_NAME_LEN]);

struct grant *bench_grant(struct bench *bench, uint32_t number);
struct grant *bench_grant_of_object(struct bench *bench, uint64_t object);
/* Takes over grant. */
void bench_add_grant(struct bench *bench, struct grant *grant);
void bench_remove_grant(struct bench *bench, struct grant *grant);
/* From the grants to the revoked ones. */
void bench_retire_grant(struct bench *bench, struct grant *grant);
void bench_forget_revoked(struct bench *bench);
/* Without a grant nothing is held for the next. */
void bench_forget_maps(struct bench *bench);
/* From the grants to the closed ones, in place of one of the same object. */
void bench_close_grant(struct bench *bench, struct grant *grant);
struct grant *bench_closed_object(const struct bench *bench, uint64_t object);
void bench_remove_closed(struct bench *bench, struct grant *grant);
/* Accepts NULL. */
void grant_free(struct grant *grant);
static inline void grant_freep(struct grant **grant)
{
	grant_free(*grant);
}

/* What is removed with its mount; NULL: the mount point was there before. */
static inline const char *grant_mount_point(const struct grant *grant)
{
	return grant->over || grant->adopted ? NULL : grant->dest;
}

/* Which seal it is of, and until when that holds; -EBADMSG. */
void grant_seal_to_json(struct json_object *json, const struct grant *grant);
int grant_seal_from_json(struct json_object *json, struct grant *grant);
/* What it was about to have is what it has. */
void grant_refreshed(struct grant *grant);

/* What it has of destinations, in or out, is all it has. */
static inline bool grant_has_destinations(const struct grant *grant)
{
	return grant->kind == GRANT_NET || grant->kind == GRANT_LISTEN ||
	       grant->kind == GRANT_BROKER;
}

/* And they lie beyond its network. */
static inline bool grant_has_way(const struct grant *grant)
{
	return grant->kind == GRANT_NET || grant->kind == GRANT_LISTEN;
}

/* Of that profile; NULL is none. */
static inline bool grant_is_of_profile(const struct grant *grant, const char *profile)
{
	return grant->kind == GRANT_NET && grant->profile && profile &&
	       !strcmp(grant->profile, profile);
}

/* The kernel's key of a destination. */
struct bm_dest_key bench_dest_key(const struct bench *bench, const struct bm_destination *d);

struct json_object *grant_to_json(const struct bench *bench, const struct grant *grant);
/* The names that are excepted, for people: "except" of a grant. */
struct json_object *excepts_to_json(const struct except *list, size_t count, bool objects);
/* -EBADMSG; objects of the ledger's alone. *ret is the caller's. */
int excepts_from_json(struct json_object *json, bool objects, struct except **ret,
		      size_t *ret_count);
/* The fields of a ledger line or reply; -EBADMSG. *ret is the caller's. */
int grant_from_json(struct json_object *json, struct grant **ret);

/* Field 22 of /proc/PID/stat; 0 when there is no such process. */
uint64_t pid_start_time(pid_t pid);

#endif
