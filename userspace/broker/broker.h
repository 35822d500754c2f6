/* SPDX-License-Identifier: GPL-2.0-only */
/* The process: one thread, one loop, and the calls that are under way. */
#ifndef BENCHMON_BROKER_BROKER_H
#define BENCHMON_BROKER_BROKER_H

#include <curl/curl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/json.h"
#include "broker/answer.h"
#include "broker/echo.h"
#include "broker/quota.h"
#include "broker/request.h"

#define LISTENER 3
#define CONTROL 4
#define FDS 512 /* RLIMIT_NOFILE */
#define ADDRESSES 16
#define HOSTS 16
/* On its way, in each direction of a call, before its source is asked to wait. */
#define UP_MAX (128 * 1024)
#define DOWN_MAX (128 * 1024)

enum phase {
	PHASE_HEAD,   /* the head is looked at, nothing is taken from the socket */
	PHASE_SERVED, /* libmicrohttpd has it */
	PHASE_LINGER, /* it was told; what it still sends is thrown away */
};

/* A connection, and the one call that is made by it. */
struct call {
	struct broker *broker;
	int fd;
	enum phase phase;
	uint64_t began, deadline; /* ms */
	bool counted;             /* in the quota */

	char *head;
	size_t head_len, seen;
	unsigned int pieces, lingered;
	struct request request;
	struct refusal refusal; /* status 0: none */
	unsigned int wait;      /* seconds, for Retry-After */

	struct MHD_Connection *connection;
	bool suspended, queued, dead, delivered;

	CURL *easy;
	struct curl_slist *headers;
	struct buffer up, down;
	bool up_ended, up_paused, down_ended, down_failed, down_paused;
	bool nudge_curl, nudge_front; /* the other side has changed what this one waits for */
	struct answer answer;
	struct echo_stream *echo;

	uint64_t bytes_in, bytes_out;
	const char *cut; /* the rule that ended it before its end */
};

struct broker {
	struct bm_broker definition;
	char bench[40], grant[48];
	bool verify;
	uid_t uid;
	gid_t gid;
	struct in6_addr addresses[ADDRESSES]; /* IPv4 mapped */
	size_t address_count;
	char *hosts[HOSTS + 1];
	struct bm_broker_limits limits;
	uint64_t used_requests, used_bytes; /* of them, by those before it */

	char *header; /* "Authorization: Bearer ...", ready to be sent */
	struct echo *echo;
	struct x509_store_st *trust;
	struct curl_slist *resolve;
	char *origin; /* "https://HOST:PORT" */
	const char *locked;

	int epoll;
	CURLM *multi;
	uint64_t timer; /* when libcurl wants to be called; 0: not */
	struct MHD_Daemon *front;
	struct quota quota;
	struct call *calls[FDS];
	unsigned int call_count;
	bool accepting;
	uint64_t number;
	struct json_object *records[FDS]; /* that wait for room */
	size_t record_count;
};

uint64_t now_ms(void);

/* config.c: the first message and the credential; before anything is given up. */
int config_receive(struct broker *broker, struct bm_error *err);
/* What a client may call the endpoint, where nobody said. */
int config_hosts(struct broker *broker, struct bm_error *err);

/* confine.c: for good. */
int confine_memory(struct broker *broker, struct bm_error *err);
int confine_process(struct broker *broker, struct bm_error *err);

/* control.c */
int control_tell(struct json_object *json);
void control_fail(const struct bm_error *err);
/* The record of a call that has ended. */
void control_record(struct broker *broker, const struct call *call);
/* What waits; false as long as something still does. */
bool control_flush(struct broker *broker);

/* front.c: connections before and beside libmicrohttpd. */
int front_start(struct broker *broker, struct bm_error *err);
void front_accept(struct broker *broker);
void front_event(struct call *call, uint32_t events);
/* Takes connections, or lets them wait in the queue. */
void front_update(struct broker *broker);
/* In how many ms something is to be ended; ends what is due. */
int front_deadlines(struct broker *broker);
void call_free(struct call *call);

/* bridge.c: between the two libraries. */
int bridge_start(struct broker *broker, struct bm_error *err);
int bridge_serve(struct call *call);
/* Ends it before its end. */
void bridge_cut(struct call *call, const char *rule);
/* Lets go on who waited for the other side; whether somebody did. */
bool bridge_nudge(struct broker *broker);

/* upstream.c */
int upstream_start(struct broker *broker, struct bm_error *err);
int upstream_call(struct call *call);
void upstream_stop(struct call *call);
void upstream_event(struct broker *broker, int fd, uint32_t events);
/* What libcurl has to do now, and what it has done. */
void upstream_run(struct broker *broker);
/* Of an easy handle, everything that makes it go there and nowhere else. */
int upstream_prepare(struct broker *broker, CURL *easy);

/* trust.c: the CA's certificates, while files can be read, and for each call. */
int trust_load(struct broker *broker, struct bm_error *err);
CURLcode trust_use(struct broker *broker, CURL *easy);

/* verify.c */
int verify_run(struct broker *broker, struct bm_error *err);

#endif
