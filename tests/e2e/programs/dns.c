// SPDX-License-Identifier: GPL-2.0-only
/*
 * A DNS server for the names of a file, which is read anew for each question:
 *
 *   dns ADDRESS ZONE
 *
 * NAME TTL A|AAAA|CNAME DATA, one record a line; NAME TTL TURN A ADDRESS... gives another one of
 * the addresses each time; NAME TTL RANGE A|AAAA FIRST COUNT that many from the first on (they
 * differ in their last two bytes); NAME 0 REFUSED, SERVFAIL, SILENT or CUT (ask again over TCP,
 * where nobody listens). A name that has no line does not exist. It prints "ready" when it listens
 * on port 53.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>

#include "say.h"

enum { A = 1, CNAME = 5, AAAA = 28 };
enum { SERVFAIL = 2, NXDOMAIN = 3, REFUSED = 5 };

struct reply {
	uint8_t bytes[4096];
	size_t len;
	unsigned answers, rcode;
	bool silent, cut;
};

static unsigned turn;

static void put16(struct reply *r, unsigned value)
{
	r->bytes[r->len++] = (uint8_t)(value >> 8);
	r->bytes[r->len++] = (uint8_t)value;
}

static size_t put_labels(uint8_t *to, const char *name)
{
	size_t len = 0;

	while (*name) {
		size_t label = strcspn(name, ".");

		to[len++] = (uint8_t)label;
		memcpy(to + len, name, label);
		len += label;
		name += label + (name[label] == '.');
	}
	to[len++] = 0;
	return len;
}

static void put_record(struct reply *r, const char *name, unsigned type, unsigned ttl,
		       const uint8_t *data, size_t size)
{
	if (r->len + strlen(name) + size + 32 > sizeof(r->bytes))
		return;
	r->len += put_labels(r->bytes + r->len, name);
	put16(r, type);
	put16(r, 1);
	put16(r, ttl >> 16);
	put16(r, ttl & 0xffff);
	put16(r, (unsigned)size);
	memcpy(r->bytes + r->len, data, size);
	r->len += size;
	r->answers++;
}

static void put_data(struct reply *r, const char *name, unsigned type, unsigned ttl,
		     const char *text)
{
	uint8_t data[300];

	if (type == CNAME)
		put_record(r, name, type, ttl, data, put_labels(data, text));
	else if (inet_pton(type == A ? AF_INET : AF_INET6, text, data) == 1)
		put_record(r, name, type, ttl, data, type == A ? 4 : 16);
}

static unsigned type_of(const char *word)
{
	return !strcmp(word, "A") ? A : !strcmp(word, "AAAA") ? AAAA : CNAME;
}

/* Of the words behind TURN A, the one whose turn it is. */
static void put_turn(struct reply *r, const char *name, unsigned ttl, char **rest)
{
	unsigned type = type_of(strtok_r(NULL, " \n", rest) ?: "A"), count = 0;
	char *words[64], *word;

	while (count < 64 && (word = strtok_r(NULL, " \n", rest)))
		words[count++] = word;
	if (count)
		put_data(r, name, type, ttl, words[turn++ % count]);
}

static void put_range(struct reply *r, const char *name, unsigned type, unsigned ttl, char **rest)
{
	const char *kind = strtok_r(NULL, " \n", rest), *first = strtok_r(NULL, " \n", rest);
	const char *count = strtok_r(NULL, " \n", rest);
	size_t size = type == A ? 4 : 16;
	uint8_t data[16];

	if (!kind || !first || !count || type_of(kind) != type ||
	    inet_pton(type == A ? AF_INET : AF_INET6, first, data) != 1)
		return;
	for (int i = atoi(count); i > 0; i--) {
		put_record(r, name, type, ttl, data, size);
		if (!++data[size - 1])
			data[size - 2]++;
	}
}

/* Returns whether the name has this line; an alias becomes the name that is looked for next. */
static bool take_line(struct reply *r, char *line, char *name, unsigned type)
{
	char *rest, *owner = strtok_r(line, " \n", &rest), *ttl = strtok_r(NULL, " \n", &rest);
	char *kind = strtok_r(NULL, " \n", &rest), *data;
	char alias[256];

	if (!owner || !ttl || !kind || strcasecmp(owner, name))
		return false;
	if (!strcmp(kind, "REFUSED") || !strcmp(kind, "SERVFAIL")) {
		r->rcode = *kind == 'R' ? REFUSED : SERVFAIL;
	} else if (!strcmp(kind, "SILENT")) {
		r->silent = true;
	} else if (!strcmp(kind, "CUT")) {
		r->cut = true;
	} else if (!strcmp(kind, "TURN")) {
		if (type == A)
			put_turn(r, name, (unsigned)atoi(ttl), &rest);
	} else if (!strcmp(kind, "RANGE")) {
		put_range(r, name, type, (unsigned)atoi(ttl), &rest);
	} else if ((data = strtok_r(NULL, " \n", &rest))) {
		if (type_of(kind) == type || type_of(kind) == CNAME)
			put_data(r, name, type_of(kind), (unsigned)atoi(ttl), data);
		if (type_of(kind) == CNAME) {
			snprintf(alias, sizeof(alias), "%s", data);
			snprintf(name, sizeof(alias), "%s", alias);
		}
	}
	return true;
}

static void look_up(struct reply *r, const char *zone, char *name, unsigned type)
{
	FILE *file = fopen(zone, "re");
	char line[1024];
	bool found = false;

	while (file && fgets(line, sizeof(line), file))
		found |= take_line(r, line, name, type);
	if (file)
		fclose(file);
	if (!found)
		r->rcode = NXDOMAIN;
}

/* The name and type that are asked for; false when it is no question of ours. */
static bool take_question(struct reply *r, size_t len, char *ret_name, unsigned *ret_type)
{
	size_t at = 12, used = 0;

	if (len < 17 || r->bytes[2] & 0x80)
		return false;
	while (at < len && r->bytes[at]) {
		size_t label = r->bytes[at++];

		if (label > 63 || at + label >= len || used + label + 2 > 256)
			return false;
		if (used)
			ret_name[used++] = '.';
		memcpy(ret_name + used, r->bytes + at, label);
		used += label;
		at += label;
	}
	if (at + 5 > len)
		return false;
	ret_name[used] = '\0';
	*ret_type = (unsigned)r->bytes[at + 1] << 8 | r->bytes[at + 2];
	r->len = at + 5;
	return true;
}

static void serve(int fd, const char *zone)
{
	struct reply r = {};
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	ssize_t len = recvfrom(fd, r.bytes, 512, 0, (struct sockaddr *)&from, &size);
	char name[256];
	unsigned type;

	if (len < 0 || !take_question(&r, (size_t)len, name, &type))
		return;
	look_up(&r, zone, name, type);
	if (r.silent)
		return;
	r.bytes[2] = (uint8_t)(0x81 | (r.cut ? 2 : 0));
	r.bytes[3] = (uint8_t)(0x80 | r.rcode);
	memset(r.bytes + 4, 0, 8);
	r.bytes[5] = 1;
	r.bytes[7] = (uint8_t)r.answers;
	sendto(fd, r.bytes, r.len, 0, (struct sockaddr *)&from, size);
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(53) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (argc != 3 || inet_pton(AF_INET, argv[1], &at.sin_addr) != 1) {
		fputs("usage: dns ADDRESS ZONE\n", stderr);
		return 2;
	}
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
		say("bind", -1);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		serve(fd, argv[2]);
}
