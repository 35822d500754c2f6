/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A broker grant: one HTTP endpoint on the loopback of the Bench's own network, behind which a
 * process outside (benchmon-broker) makes calls to one upstream with a credential that the Bench
 * never sees. Its only destination is that endpoint (network/endpoint.h).
 */
#ifndef BENCHMON_GATEKEEPERD_BROKER_H
#define BENCHMON_GATEKEEPERD_BROKER_H

#include "gatekeeperd/daemon.h"
#include "network/endpoint.h"
#include "policy/broker.h"

struct bm_sealed;

/* Which are looked for in the administrator's before those that were installed. */
#define BROKER_DIR "/etc/benchmon/brokers"
#define CREDENTIAL_DIR "/etc/benchmon/credentials"
#define BROKER_ADDRESSES 16
#define BROKER_DIGEST_LEN 65

/* What it has carried, each call an event in the store. */
struct broker_count {
	uint64_t calls, refused, bytes_in, bytes_out;
	/* Set off against the limits where nobody counted: it, or the daemon, ended by force. */
	uint64_t lost_calls, lost_bytes;
};

/* Of a grant, as the ledger has it. */
struct grant_broker {
	char name[BM_BROKER_NAME_LEN];
	char upstream[BM_HOSTNAME_LEN + 8];      /* HOST:PORT */
	char definition[BROKER_DIGEST_LEN];      /* BLAKE2b-256 of the file */
	bool setting;                            /* the upstream was named at the grant */
	char credential[256];                    /* where it came from, for people */
	uint8_t addresses[BROKER_ADDRESSES][16]; /* of the upstream, pinned */
	size_t address_count;
	struct bm_broker_variable *variables; /* of the environment, filled in */
	size_t variable_count;
	struct bm_broker_limits limits; /* the definition's, or narrower */
	struct broker_count count;
	struct broker_count said; /* as the ledger has it */
	bool stopped;             /* with the daemon, and counted till then */
	bool uncounted;           /* the daemon was killed meanwhile: some are not among them */
};

void grant_broker_free(struct grant_broker *broker);
static inline void grant_broker_freep(struct grant_broker **broker)
{
	grant_broker_free(*broker);
}
/* Its part of G, and of a ledger line; -EBADMSG. *ret_endpoint is what it is reached at. */
void broker_to_json(struct json_object *json, const struct grant_broker *broker,
		    const struct bm_destination *endpoint);
int broker_from_json(struct json_object *json, struct grant_broker **ret,
		     struct bm_destination *ret_endpoint);
/* What is gone of its limits. */
uint64_t broker_used_calls(const struct grant_broker *broker);
uint64_t broker_used_bytes(const struct grant_broker *broker);
void broker_count_to_json(struct json_object *json, const struct grant_broker *broker);
/* A ledger line about a running one; -EBADMSG. */
int broker_replay(struct grant *g, struct json_object *line);

/* "model.broker", of /etc/hosts in the Bench. */
#define BROKER_HOST_LEN (BM_BROKER_NAME_LEN + 8)
const char *broker_host(const struct grant_broker *broker, char buf[BROKER_HOST_LEN]);

/* --- granting: broker.c -------------------------------------------------------------------------
 */

/* Begins to resolve its upstream; the offer follows (sealing.h). Changes nothing. */
int broker_prepare(struct daemon *d, struct connection *c, const struct bench *bench,
		   struct bm_message *message, struct bm_error *err);
/* What it was resolved to, into p. */
int broker_take_resolved(struct pending *p, const struct bm_sealed *sealed, struct bm_error *err);
void broker_describe(struct json_object *json, const struct pending *p);
/* Checked again; in the ledger, started, and then in the kernel. */
/* The grant's number is used up, and it is in the ledger, from here on. */
int broker_grant(struct daemon *d, struct bench *bench, struct grant *g, struct bm_error *err);

/* --- definitions and credentials: broker_find.c -------------------------------------------------
 */

/* A definition as it stands, and read. */
struct broker_definition {
	struct bm_broker broker;
	struct json_object *json;
	char digest[BROKER_DIGEST_LEN];
	char file[PATH_MAX];
};
void broker_definition_done(struct broker_definition *definition);
#define autodefinition __attribute__((cleanup(broker_definition_done))) struct broker_definition

/* -ENOENT: there is none. *ret is the caller's. */
int broker_find(const char *name, struct broker_definition *ret, struct bm_error *err);
/* What its definition leaves to a setting; -EINVAL where that is missing, or too much. */
int broker_set_upstream(struct broker_definition *def, const char *upstream, struct bm_error *err);
/* Calls fn for the name of each file, which may define one or not. */
void broker_each(void (*fn)(void *ctx, const char *name), void *ctx);

/*
 * Where the credential of that name is: a file of root's, a systemd credential of gatekeeperd's, or
 * a key in root's keyring. *ret_fd can be read to its end, and is the caller's; from, of at least
 * PATH_MAX, says which. -EPERM: others could have read it, or written it.
 */
int broker_credential(const char *name, int *ret_fd, char *from, struct bm_error *err);
int broker_check_credential(int fd, const char *from, uid_t owner, struct bm_error *err);

/* --- the process: broker_run.c -------------------------------------------------------------------
 */

/* One that runs, or waits to be started again. */
struct broker_run {
	struct watch exit; /* first: a watch is cast to its run. Its pidfd; -1: it does not run */
	struct watch said; /* its control socket */
	struct broker_run *next;
	uint32_t bench, grant; /* 0: it verifies */
	uint32_t uid;
	int endpoint; /* its listening socket: nobody else gets the address */
	bool shut;    /* until it takes connections again */
	struct backoff backoff;
	uint64_t began_ns;      /* when it was ready; 0: not yet */
	struct bm_error failed; /* what it has said of itself */
	/* Of one that verifies: it is told when that has ended, and not begun again. */
	void (*ended)(struct daemon *d, struct broker_run *run, const char *why);
	struct connection *connection; /* NULL: nobody waits any more */
	struct json_object *verified;
	bool dead;
};

/* Opens the endpoint, starts the process and waits until it takes connections. */
int broker_start(struct daemon *d, struct bench *bench, const struct grant *g,
		 struct bm_error *err);
/* After a restart: what does not come off is tried again. */
void broker_adopt(struct daemon *d, struct bench *bench, struct grant *g);
/* Ends it with its connections, and closes the endpoint. Nothing where it does not run. */
void broker_stop(struct daemon *d, const struct bench *bench, const struct grant *g);
/* Whether it takes connections now. */
bool broker_runs(const struct daemon *d, const struct bench *bench, const struct grant *g);
/* Starts again those whose time has come. */
void brokers_review(struct daemon *d);
void brokers_bury(struct daemon *d);
/* The daemon ends, and with it they do: how far they were counted is recorded. */
void brokers_finish(struct daemon *d);
/* Arms the timer for the next of them. */
void brokers_await(struct daemon *d);
/* One more, of nothing yet; NULL when out of memory. And its end. */
struct broker_run *broker_run_new(struct daemon *d);
void broker_run_end(struct daemon *d, struct broker_run *run);
/* A child that the launcher starts, with the first message; verify without an endpoint. */
int broker_spawn(struct daemon *d, struct broker_run *run, struct json_object *first,
		 int credential, struct bm_error *err);

/* --- a call that is made to see whether it works: broker_verify.c --------------------------------
 */

struct broker_verify;
/* While it goes on, the connection has nothing else to say. */
bool broker_verify_busy(const struct connection *c);
void broker_verify_abandon(struct daemon *d, struct connection *c);
/* Accepts NULL. */
void broker_verify_free(struct broker_verify *v);

/* --- what it says: broker_say.c ------------------------------------------------------------------
 */

/* The first message to it. -ESTALE: the definition is not the one that was granted. */
int broker_first(const struct bench *bench, const struct grant *g, struct json_object **ret,
		 int *ret_credential, struct bm_error *err);
/* It, or the daemon, ended by force: what may have been used since is. */
void broker_charge(struct grant_broker *broker, bool daemon);
/* One of its records: an event, and counted; in the ledger before much is used that is not there.
 */
void broker_call(struct daemon *d, const struct bench *bench, struct grant *g,
		 struct json_object *call);
/* A line of the ledger, with how far it was counted; why may be NULL. */
void broker_record(struct daemon *d, const struct bench *bench, const struct grant *g,
		   const char *what, const char *why);

#endif
