/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The definition of a broker: which calls may be made to which upstream, and where the credential
 * goes. It opens nothing by itself.
 */
#ifndef BENCHMON_POLICY_BROKER_H
#define BENCHMON_POLICY_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "policy/hostname.h"

#define BM_BROKER_NAME_LEN 33
#define BM_BROKER_MAX                                                                              \
	(64 * 1024)        /* bytes of a definition: it goes to the broker in one message          \
			    */
#define BM_BROKER_TEXT 200 /* characters of a description */
#define BM_BROKER_TEXT_LEN (4 * BM_BROKER_TEXT + 1)
#define BM_BROKER_ROUTES 64
#define BM_BROKER_QUERY 16
#define BM_BROKER_HEADERS 64
#define BM_BROKER_VARIABLES 16
#define BM_BROKER_WORD 64 /* bytes, with the NUL: a method, a header's name, a user */
#define BM_BROKER_PATH 256

/* One kind of call: a method, a pattern of paths, and what may stand in the query. */
struct bm_broker_route {
	char method[8];
	char path[BM_BROKER_PATH];                   /* bm_broker_path_matches() */
	char query[BM_BROKER_QUERY][BM_BROKER_WORD]; /* NAME, or NAME=VALUE and no other value */
	size_t query_count;
};

struct bm_broker_variable {
	char name[BM_BROKER_WORD];
	/* {url}, {host} and {port} stand for the endpoint, {upstream} for https://HOST[:PORT]. */
	char value[BM_BROKER_PATH];
};

struct bm_broker_limits {
	uint64_t requests;   /* as long as the grant lives; 0: not limited */
	uint64_t bytes;      /* of bodies, both ways together, as long as the grant lives; 0: not */
	uint32_t rate;       /* calls a minute */
	uint32_t concurrent; /* calls at once */
	uint32_t seconds;    /* one call may take */
};

struct bm_broker {
	char name[BM_BROKER_NAME_LEN];
	char description[BM_BROKER_TEXT_LEN];
	bool setting;               /* the upstream is told by a setting and stands not here */
	char host[BM_HOSTNAME_LEN]; /* empty as long as the setting has not been applied */
	uint16_t port;
	char ca[BM_BROKER_PATH];        /* a file of certificates; empty: the system's */
	char header[BM_BROKER_WORD];    /* that the credential goes in, in lower case */
	char before[BM_BROKER_WORD];    /* before it: "Bearer " */
	char user[BM_BROKER_WORD];      /* not empty: as HTTP Basic, with this user */
	struct bm_broker_route *routes; /* the first that matches */
	size_t route_count;
	char (*headers)[BM_BROKER_WORD]; /* of a request that are passed on; "x-*" too */
	size_t header_count;
	struct bm_broker_variable *variables;
	size_t variable_count;
	struct bm_broker_limits limits;
	struct bm_broker_route verify; /* a harmless call; its path and query as they are */
	uint16_t verify_status;
};

/* A name that a broker may have: 1 to 32 of a-z, 0-9 and '-', beginning with a letter. */
int bm_broker_name_check(const char *name, struct bm_error *err);
/*
 * Parses a definition of len bytes; what names it in errors, which say the place, the key and what
 * is wrong with it. name is what the file is called and the definition must be; NULL: whatever it
 * says. Release *ret with bm_broker_done().
 */
int bm_broker_parse(const char *text, size_t len, const char *what, const char *name,
		    struct bm_broker *ret, struct bm_error *err);
/* The same of JSON that is there already. */
int bm_broker_from_json(struct json_object *json, const char *what, const char *name,
			struct bm_broker *ret, struct bm_error *err);
/*
 * Reads NAME.json in the directory dir, by the rules of bm_profile_load(): nobody but root, or
 * owner, may have written it. -ENOENT when there is none.
 */
int bm_broker_load(int dir, const char *name, uid_t owner, struct bm_broker *ret,
		   struct bm_error *err);
void bm_broker_done(struct bm_broker *broker);
#define autobroker __attribute__((cleanup(bm_broker_done))) struct bm_broker

/* Of a definition that leaves it to a setting: HOST or HOST:PORT, 443 without. */
int bm_broker_set_upstream(struct bm_broker *broker, const char *upstream, struct bm_error *err);
/* {"requests"?, "bytes"?, "rate"?, "concurrent"?, "seconds"?} over what is there already. */
int bm_broker_limits_parse(struct json_object *json, const char *what,
			   struct bm_broker_limits *limits, struct bm_error *err);
struct json_object *bm_broker_limits_to_json(const struct bm_broker_limits *limits);
/* Each of the two that is narrower. */
void bm_broker_limits_narrow(struct bm_broker_limits *limits, const struct bm_broker_limits *by);

/*
 * '*' stands for one byte or more but '/' and '%'; everything else, an escape too ("%2f"), for
 * itself, escapes in either case.
 */
bool bm_broker_path_matches(const char *pattern, const char *path, size_t len);
/*
 * The grammar of a path that no two servers read differently; it begins with '/', and where pattern
 * is set '*' may stand in it. What is wrong with it, or NULL.
 */
const char *bm_broker_path_wrong(const char *path, size_t len, bool pattern);
/* A header's name that no definition passes on: the connection's, the credential's, a disguise. */
bool bm_broker_header_never(const char *name);

#endif
