/* SPDX-License-Identifier: GPL-2.0-only */
/* The daemon's own structures: one process, one thread, one event loop. */
#ifndef BENCHMON_DAEMON_H
#define BENCHMON_DAEMON_H

#include <errno.h>
#include <string.h>
#include <sys/types.h>

#include "audit/ledger.h"
#include "audit/store.h"
#include "base/error.h"
#include "gatekeeperd/config.h"
#include "gatekeeperd/log.h"
#include "gatekeeperd/model.h"
#include "gatekeeperd/requests.h"
#include "gatekeeperd/service.h"
#include "kernel/kernel.h"
#include "policy/source.h"
#include "protocol/protocol.h"

struct ask;
struct daemon;

/* What epoll hands back: who it is for. */
struct watch {
	int fd;
	void (*ready)(struct daemon *d, struct watch *w, uint32_t events);
};

/* A Bench that is to be made. */
struct making {
	bool on;
	struct bm_limits limits;
	int64_t seconds;
	enum bench_exec exec;
	bool userns;
	bool first_uses;
};

/* A grant, or a Bench, that has been shown and awaits its confirmation. */
struct pending {
	char token[24]; /* "": none */
	char bench[BM_BENCH_NAME_LEN];
	uint32_t bench_id;
	enum grant_kind kind;
	int fd;   /* file: the very object that was shown */
	int tree; /* adopted: its mount, as the container had it */
	struct bm_source source;
	char typed[PATH_MAX], dest[DEST_LEN];
	bool writable, idmap, report, adopted, learn;
	bool secret, with_secret;       /* the fourth rule: rule_four.h */
	uint64_t carrier_changes;       /* of the model, when it was looked at */
	bool except_secrets, unscanned; /* secrets.h */
	struct except *excepts;
	size_t except_count;
	/* net: one address, or what is sealed of a profile */
	char profile[BM_PROFILE_NAME_LEN], seal[BM_SEAL_DIGEST_LEN];
	int64_t seal_expiry;
	bool uploads;
	bool seals; /* sealing.h has the other half, and both are confirmed at once */
	struct grant_hosts hosts;
	struct grant_broker *broker; /* broker: hosts is where it is reached */
	int64_t seconds;             /* it ends by itself after so many; 0: not */
	uint32_t ask, ask_bench;     /* the request that it answers (asks.h); ask 0: none */
	struct making making;
};

struct connection {
	struct watch watch; /* first: a watch is cast to its connection */
	struct connection *next;
	pid_t pid;
	uid_t uid;
	gid_t gid;
	enum peer_role role;
	uint32_t bench_id; /* of PEER_BENCH; else 0 */
	uint64_t heard_ns; /* CLOCK_MONOTONIC: when it last said or was told something */
	int pidfd;         /* the peer; below 0: it had gone before it was seen */
	uint64_t started;  /* its start time, against a reused number; 0: the same */
	struct pending pending;
	struct adoption *adoption;     /* adopt.c */
	struct sealing *sealing;       /* sealing.h */
	struct broker_verify *verify;  /* broker.h */
	struct secrets_search *search; /* secrets_search.h */
	/* events */
	bool streaming, follow;
	struct bm_reader reader;
	char *unsent; /* a line, and how many were missed before it, that found no room */
	uint64_t unsent_missed;
	/* exec */
	struct execution *execution;
	/* The request that it waits for; number 0: it does not. */
	struct {
		uint32_t bench_id, number;
	} awaits;
	struct ending *ending;     /* ending.h: its reply is awaited */
	struct revoking *revoking; /* revoke.c: the same */
	struct freezing *freezing; /* freeze.h: the same */
	bool dead;                 /* to be freed when the loop comes round */
};

/* A process that `exec` started in a Bench, for as long as its client listens. */
struct execution {
	struct watch exit;   /* its pidfd */
	struct watch report; /* fd -1 once it has said whether the payload executes */
	struct execution *next;
	struct connection *connection; /* NULL once its client has hung up */
	pid_t pid;
	char command[256];
	uint32_t seeks; /* the Bench of which it is told what is not found; 0: of none */
	bool failed, dead;
};

/* What is done by itself when its time has come. */
enum daemon_timer {
	TIMER_RECALL,
	TIMER_LIFETIME,
	TIMER_ENDING,
	TIMER_FREEZE,
	TIMER_ASKS,
	TIMER_BROKER,
	TIMER_EVENTS,
	TIMER_STORE,
	TIMER_METRICS,
	DAEMON_TIMERS
};

struct daemon {
	struct config config;
	struct service service;
	struct model model;
	struct bm_kernel *kernel;
	struct bm_ledger *ledger;
	struct bm_store *store;
	struct places host; /* its mounts, as they were when the daemon had none of its own */
	int state_dir, log_dir;
	int starting; /* main.c: locked until it can be asked, or can't */
	int epoll;
	struct watch listener, launcher, signals, ring, timer;
	struct watch rubbish; /* rubbish.c: the end of its remover */
	pid_t remover;        /* 0: none */
	/* clients.c */
	struct connection *connections;
	struct watch idle;
	uint64_t idle_ns; /* what its timer is set to; 0: it is not */
	int descriptors;  /* the first number that no connection gets */
	bool deaf;        /* the listener is not watched: there was no descriptor left */
	uint64_t turned_away, told_ns;
	char socket_path[128]; /* "": nothing to remove */

	struct execution *executions;
	struct ending *endings;
	struct revoking *revokings; /* revoke.c */
	struct freezing *freezings; /* freeze.h */
	struct search *searches;    /* search.h: to be freed when the loop comes round */
	bool searched;              /* one has come to its end: who waits goes on */
	struct init_watch *inits;   /* lifecycle.c */
	struct broker_run *brokers; /* broker_run.c */
	struct door *doors;         /* door.h */
	struct watch door_timer;
	uint64_t next_token;
	uint64_t due_ns[DAEMON_TIMERS]; /* what the timer is armed for; 0: not */
	bool stop, restoring;
	int status;      /* to exit with */
	bool restating;  /* record.c: what is recorded is no decision, it is said again */
	off_t rotate_at; /* bytes of the ledger */
};

int daemon_watch(struct daemon *d, struct watch *w, uint32_t events);
void daemon_unwatch(struct daemon *d, struct watch *w);
/* Once, at that time of CLOCK_BOOTTIME; 0: not any more. */
void daemon_timer(struct daemon *d, enum daemon_timer which, uint64_t ns);

/*
 * record.c: a line of the ledger; fields is taken over. What tells of an end is taken on a full
 * disk too.
 */
int daemon_record(struct daemon *d, const char *event, struct json_object *fields,
		  struct bm_error *err);

/* restore.c: the model from the ledger, then what the kernel has beyond it removed. */
int daemon_restore(struct daemon *d, struct bm_error *err);

bool bench_alive(const struct bench *bench); /* lifecycle.c */
/* grant.c: -ESRCH when nothing can be granted to it any more. */
int bench_usable(const struct bench *bench, struct bm_error *err);
void now_text(char ret[40]);

/* What came of a revocation. */
struct revoked {
	struct json_object *found; /* an array: what was held, and what was done about it */
	size_t sockets;            /* that were ended */
};

/* Something is looked for first: it is not done yet, and asked again when d->searched. */
#define REVOKE_SEARCHES (-EINPROGRESS)
/* revoke.c. Adds to *ret, which may be NULL. */
int grant_revoke(struct daemon *d, struct bench *bench, struct grant *grant, struct revoked *ret,
		 struct bm_error *err);

/* Nobody waits for its answer any more; it is carried through all the same. */
void revoking_unheard(struct revoking *revoking);
/* Between two rounds of the loop: what waited for a search that has ended goes on. */
void revocations_turn(struct daemon *d);
/* The daemon stops: all of it is carried through before. */
void revocations_finish(struct daemon *d);

/* streams.c */
void streams_wake(struct daemon *d);
void stream_continue(struct daemon *d, struct connection *c);
void on_ring(struct daemon *d, struct watch *w, uint32_t events);
void on_record(void *ctx, const void *record, size_t size);
/* What has happened by now is told, or counted as suppressed. */
void streams_settle(struct daemon *d);
/* The same, by itself: TIMER_EVENTS; and TIMER_STORE: old files are compressed and removed. */
void streams_review(struct daemon *d);
/* When the Benches are restored: what an earlier daemon has left is told. */
void streams_begin(struct daemon *d);
/* Of a Bench that has left the kernel, whose last event was that number. */
void streams_end(struct daemon *d, struct bench *bench, uint64_t last);

/* connection.c */
void on_connection(struct daemon *d, struct watch *w, uint32_t events);
void connection_close(struct daemon *d, struct connection *c);
void pending_drop(struct connection *c);
/* grant.c: shows it and awaits its confirmation; the reply. */
struct json_object *pending_offer(struct daemon *d, struct connection *c,
				  const struct bench *bench);
/* describe.c: the object of C in protocol/README.md. */
void source_describe(struct json_object *json, const struct bm_source *source);
/* Whether nothing of what was shown of it has changed; that it is the same inode, its fd says. */
static inline bool source_same(const struct bm_source *a, const struct bm_source *b)
{
	return !strcmp(a->path, b->path) && a->uid == b->uid && a->mode == b->mode;
}
/* benches.c: the Bench that has been shown is made; ask: who asked for it. */
int making_confirm(struct daemon *d, struct connection *c, struct ask *ask, const char *how,
		   struct json_object **ret_reply, struct bm_error *err);
/* Takes over reply; closes a connection that doesn't take it. */
void connection_reply(struct daemon *d, struct connection *c, struct json_object *reply);
/* The same, with an fd beside it, which stays the caller's. */
void connection_reply_fd(struct daemon *d, struct connection *c, struct json_object *reply, int fd);
/* It is taken by an earlier request: no other is answered meanwhile. */
bool connection_busy(const struct connection *c);
/* What a request came to: reply (taken over; NULL: it was answered already), or for r < 0 err. */
void connection_answer(struct daemon *d, struct connection *c, int r, struct json_object *reply,
		       struct bm_error *err);

/* execute.c: nobody listens any more; it is killed and reaped. */
void execution_abandon(struct execution *x);
/* Frees what has ended since the last round; nothing of this round points at it any more. */
void executions_bury(struct daemon *d);
void inits_bury(struct daemon *d);

/* request.c */
/* "offset" of a request, 0 where it is not there. */
int offset_of_request(struct json_object *request, size_t *ret, struct bm_error *err);
/* -EPERM for everybody else; why tells of it in one sentence. */
int only_root(const struct connection *c, const char *why, struct bm_error *err);
/* -ENOENT for another user's too, and in the same words. */
int bench_of_request(struct daemon *d, const struct connection *c, struct json_object *request,
		     struct bench **ret, struct bm_error *err);
/* Grants from offset on until the message is full; *ret_next 0 at the end. */
struct json_object *bench_to_json(struct daemon *d, const struct bench *bench, size_t offset,
				  bool with_grants, size_t *ret_next);

#endif
